import type { LogName } from "../../../../lib/log/log-path.ts";
import { readLogPage } from "../../../../lib/log/read-log-page.ts";
import type { LogAnswer, LogFilter, LogLine } from "../../../contract/logs.ts";
import { fitsLogFilter, toLogLine } from "./log-line.ts";

const PAGE_LINES = 500;
const PAGE_BYTES = 200_000;
/** A rare match is searched for in pieces, each of which is one request. */
const SCAN_BYTES = 2_000_000;
/** Lines of several processes are only roughly in the order of their times. */
const DISORDER_MS = 60_000;

export interface LogPageQuery {
  readonly file: LogName;
  readonly before: string | undefined;
  readonly filter: LogFilter;
}

/** Reads one page of a log for the browser. Its cost does not depend on the size of the log. */
export async function readLogLines(
  folder: string,
  { file, before, filter }: LogPageQuery,
  redact: (text: string) => string,
): Promise<Omit<LogAnswer, "at">> {
  const oldest = (filter.since ?? Number.NEGATIVE_INFINITY) - DISORDER_MS;
  const { lines, older, ends } = await readLogPage<LogLine>(folder, {
    ...{ file, before, maxLines: PAGE_LINES, maxBytes: PAGE_BYTES, scanBytes: SCAN_BYTES },
    select(placed) {
      // Redacting is slow, so most lines are omitted before it; a search also must not find what is redacted.
      const stored = toLogLine(placed, (text) => text);
      if (!fitsLogFilter(stored, filter)) return undefined;
      const line = toLogLine(placed, redact);
      return fitsLogFilter(line, filter) ? line : undefined;
    },
    sizeOf: (line) => Buffer.byteLength(JSON.stringify(line)),
    isTooOld: (line) => line.kind === "record" && Date.parse(line.record.time) < oldest,
  });
  return { lines: [...lines], older: older ?? null, ends: { ...ends } };
}
