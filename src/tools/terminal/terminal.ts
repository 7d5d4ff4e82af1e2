import { z } from "zod";
import type { CommandResult } from "../../environments/environment.ts";
import { AppError } from "../../lib/errors.ts";
import { defineTool, failedJson, okJson } from "../define-tool.ts";
import type { Tool, ToolCallContext, ToolResult } from "../tool.ts";
import type { ToolParts } from "../workspace.ts";
import { adviseForeground } from "./advise-foreground.ts";
import { exitMeaning } from "./exit-meaning.ts";
import { stripAnsi } from "./strip-ansi.ts";

const input = z.strictObject({
  command: z.string().min(1).describe("Shell command"),
  background: z.boolean().default(false).describe("Do not wait: servers, watchers, long builds"),
  timeout: z.int().min(1).optional().describe("Seconds"),
  workdir: z.string().min(1).optional().describe("Folder for this command only"),
  pty: z.boolean().default(false).describe("Background only: give it a terminal"),
  notify_on_complete: z.boolean().default(false).describe("Background only: be told when it ends"),
  watch_patterns: z
    .array(z.string().min(1))
    .default([])
    .describe("Background only: be told of lines with these"),
});
type Input = z.infer<typeof input>;

const BAD_IN_PATH = /[^\p{L}\p{M}\p{N}/\\:_\-.~ +@=,()[\]]/u;

/** Runs a command in the session's environment, or starts one that nobody waits for. */
export function createTerminal(parts: ToolParts): Tool {
  const { limits } = parts;
  return defineTool({
    name: "terminal",
    toolset: "terminal",
    description: `Run a shell command. The folder and exported variables stay for the next call; processes do not survive a timeout (default ${limits.timeout} s, at most ${limits.maxForegroundTimeout}). Use background for what runs longer, then the process tool. Prefer read_file, patch, write_file and search_files to cat, sed, heredocs and grep.`,
    input,
    mutates: true,
    commandsOf: ({ command }) => [command],
    async run(call, context) {
      const refusal = refusalOf(call, limits.maxForegroundTimeout);
      if (refusal !== undefined) return failedJson({ output: "", exit_code: -1, error: refusal });
      const bad = call.workdir === undefined ? null : BAD_IN_PATH.exec(call.workdir);
      if (bad) {
        const error = `workdir may not contain ${JSON.stringify(bad[0])}.`;
        return failedJson({ output: "", exit_code: -1, error, status: "blocked" });
      }
      try {
        return await (call.background ? start : runForeground)(parts, call, context);
      } catch (error) {
        if (!(error instanceof AppError) || context.signal.aborted) throw error;
        // Nothing was run; the next call tries the place anew.
        return failedJson({
          output: "",
          exit_code: -1,
          error: error.message,
          hint: error.hint,
          status: "degraded",
        });
      }
    },
  });
}

function refusalOf(
  { command, background, timeout, notify_on_complete, watch_patterns, pty }: Input,
  most: number,
) {
  if (background) return undefined;
  if (timeout !== undefined && timeout > most)
    return `A foreground command may take ${most} s at most. Start it with background: true and use the process tool.`;
  if (pty || notify_on_complete || watch_patterns.length > 0)
    return "pty, notify_on_complete and watch_patterns are for background: true.";
  return adviseForeground(command);
}

async function runForeground(
  parts: ToolParts,
  { command, workdir, timeout = parts.limits.timeout }: Input,
  { signal }: ToolCallContext,
): Promise<ToolResult> {
  const { environment, session } = await parts.workspace(signal);
  await using window = parts.createWindow();
  const result = await environment.run(
    {
      command,
      session,
      workdir,
      timeoutMs: timeout * 1_000,
      mergeStderr: true,
      onOutput: (_, bytes) => window.write(bytes),
    },
    signal,
  );
  const shown = await window.finish();
  const { exitCode } = result;
  const body = {
    output: parts.redact(stripAnsi(shown.text)).trimEnd(),
    exit_code: exitCode,
    error: errorOf(result, workdir, timeout),
    exit_code_meaning: result.ended === "exited" ? exitMeaning(command, exitCode) : undefined,
    full_output_path: shown.spillPath,
    notices: result.notices.length > 0 ? result.notices : undefined,
  };
  return result.ended === "exited" && exitCode === 0 ? okJson(body) : failedJson(body);
}

function errorOf(result: CommandResult, workdir: string | undefined, timeout: number): string | null {
  if (result.badWorkdir) return `The folder ${workdir ?? result.cwd ?? "of the session"} does not exist.`;
  if (result.ended === "timed-out") return `Timed out after ${timeout} s; it and its children were ended.`;
  if (result.ended === "stopped") return "Stopped by the user; it and its children were ended.";
  if (result.ended === "lost") return "The shell of this command was lost; it was not run again.";
  return null;
}

async function start(parts: ToolParts, call: Input, { signal }: ToolCallContext): Promise<ToolResult> {
  const { jobs: openJobs, session } = await parts.workspace(signal);
  const jobs = await openJobs(signal);
  const started = await jobs.start(
    call.command,
    {
      session,
      owner: parts.owner,
      lifetime: "session",
      workdir: call.workdir,
      pty: call.pty,
      notify: call.notify_on_complete && parts.canNotify,
      watch: parts.canNotify ? call.watch_patterns : [],
    },
    signal,
  );
  if (started.kind === "failed-start")
    return failedJson({ output: "", exit_code: -1, error: started.message });
  const { job, alike, notes } = started;
  return okJson({
    session_id: job.id,
    pid: job.process?.pid,
    exit_code: 0,
    error: null,
    same_command_runs_as: alike.length > 0 ? alike.map(({ id }) => id) : undefined,
    notes: notes.length > 0 ? notes : undefined,
    hint: hintOf(call, parts.canNotify),
  });
}

function hintOf({ notify_on_complete, watch_patterns }: Input, canNotify: boolean): string | undefined {
  const wantsNews = notify_on_complete || watch_patterns.length > 0;
  if (wantsNews && canNotify) return undefined;
  if (wantsNews) return "Nobody can be told later in this session: look with the process tool.";
  return "Look at it with the process tool: poll, log, wait, kill.";
}
