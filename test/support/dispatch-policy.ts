import type { z } from "zod";
import { resolveDispatchPolicy } from "../../src/board/dispatcher/rules/resolve-dispatch-policy.ts";
import { kanbanOptions } from "../../src/board/options.ts";

export type DispatchSettings = z.input<typeof kanbanOptions>;
export const LARGE_HOST = { platform: "linux", totalMemoryBytes: 2 ** 36 };

/** The policy of a dispatcher whose other settings are the defaults. */
export function dispatchPolicy(settings: DispatchSettings, host = LARGE_HOST) {
  return resolveDispatchPolicy(kanbanOptions.parse(settings), host);
}
