import { posix } from "node:path";
import { z } from "zod";
import type { ShellSession } from "../../environments/environment.ts";
import { failed } from "../define-tool.ts";
import type { ToolResult } from "../tool.ts";
import { terminalText } from "./terminal-result.ts";

/** The arguments of the terminal tool. */
export const terminalInput = z.strictObject({
  command: z.string().min(1).describe("Shell command"),
  background: z.boolean().default(false).describe("Do not wait: servers, watchers, long builds"),
  timeout: z.int().min(1).optional().describe("Seconds, in the foreground"),
  workdir: z.string().min(1).optional().describe("Folder to go to first, and to stay in"),
  pty: z.boolean().default(false).describe("Background only: give it a terminal"),
  notify_on_complete: z.boolean().default(false).describe("Background only: be told when it ends"),
  watch_patterns: z
    .array(z.string().min(1))
    .default([])
    .describe("Background only: be told of lines with these texts"),
});
export type TerminalInput = z.infer<typeof terminalInput>;

/** The answer when there was nothing to run or nowhere to run it. */
export function nothingRan(facts: {
  readonly error: string;
  readonly status: "error" | "blocked" | "degraded";
  readonly hint?: string | undefined;
}): ToolResult {
  return failed(terminalText({ exit_code: -1, ...facts }, ""));
}

/** The folder of a call from the root on: what is relative starts where the session is. */
export function folderOf({ workdir }: TerminalInput, { cwd }: ShellSession): string | undefined {
  if (workdir === undefined || cwd === undefined || /^[/~]/.test(workdir)) return workdir;
  return posix.join(cwd, workdir);
}
