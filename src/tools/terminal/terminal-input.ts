import { posix } from "node:path";
import { z } from "zod";
import type { ShellSession } from "../../environments/environment.ts";
import { failed } from "../define-tool.ts";
import type { ToolResult } from "../tool.ts";

export const terminalInput = z.strictObject({
  command: z.string().min(1).describe("Shell command"),
  background: z.boolean().default(false).describe("Do not wait: servers, watchers, long builds"),
  timeout: z.int().min(1).optional().describe("Seconds, in the foreground"),
  workdir: z.string().min(1).optional().describe("Change to this folder first, and stay there"),
  outside_sandbox: z
    .boolean()
    .default(false)
    .describe("Foreground only: run without the sandbox, after it has refused something; asks the user"),
  pty: z.boolean().default(false).describe("Background only: give it a terminal"),
  notify_on_complete: z.boolean().default(false).describe("Background only: notify when it ends"),
  watch_patterns: z
    .array(z.string().min(1))
    .default([])
    .describe("Background only: notify about lines with these texts"),
});
export type TerminalInput = z.infer<typeof terminalInput>;

/** The result if the command was refused or could not be started. */
export function refuseCommand(facts: {
  readonly error: string;
  readonly status: "error" | "blocked" | "degraded";
  readonly hint?: string | undefined;
}): ToolResult {
  return failed(formatTerminalResult({ exit_code: -1, ...facts }, ""));
}

/** The folder of a call; a relative folder is resolved against the session's folder. */
export function resolveWorkdir({ workdir }: TerminalInput, { cwd }: ShellSession): string | undefined {
  if (workdir === undefined || cwd === undefined || /^[/~]/.test(workdir)) return workdir;
  return posix.join(cwd, workdir);
}

/** Facts about a command besides its output; undefined values are omitted. */
type Facts = Readonly<Record<string, string | number | undefined>>;

/**
 * The result of a command for the model: `name: value` lines, an empty line and the verbatim output. JSON would escape
 * every line end and quote of the output, which costs tokens and makes the output harder to read.
 */
export function formatTerminalResult(facts: Facts, output: string): string {
  const lines = Object.entries(facts).flatMap(([name, value]) =>
    value === undefined ? [] : [`${name}: ${String(value).replace(/\s*\n\s*/g, " ")}`],
  );
  return output === "" ? lines.join("\n") : `${lines.join("\n")}\n\n${output}`;
}
