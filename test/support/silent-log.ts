import type { Log } from "../../src/lib/log/log.ts";

const ignore = (): void => undefined;

/** A log that writes nothing. */
export const silentLog: Log = {
  debug: ignore,
  info: ignore,
  warn: ignore,
  error: ignore,
  child: () => silentLog,
  lost: 0,
};
