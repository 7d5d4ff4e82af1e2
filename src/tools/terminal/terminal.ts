import type { CommandResult } from "../../environments/environment.ts";
import { createProgressCollapser } from "../../lib/text/collapse-progress.ts";
import { plainOutput } from "../../lib/text/plain-output.ts";
import { defineTool, failed, ok, okJson } from "../define-tool.ts";
import { type Tool, type ToolCallContext, type ToolResult, TurnRedirected } from "../tool.ts";
import type { ToolParts } from "../tool-parts.ts";
import { adviseForeground } from "./advise-foreground.ts";
import { findExitMeaning } from "./exit-meaning.ts";
import { createCommandMark, inspectCommand } from "./inspect-command.ts";
import { refuseMarkedCommand } from "./refuse-marks.ts";
import {
  formatTerminalResult,
  refuseCommand,
  resolveWorkdir,
  type TerminalInput,
  terminalInput,
} from "./terminal-input.ts";

/** Characters that a folder name hardly ever needs. Hermes quotes the path itself, so quotes are not needed either. */
const BAD_IN_PATH = /[^\p{L}\p{M}\p{N}/\\:_\-.~ +@=,()[\]]/u;

const HARMLESS_COMMAND = "echo done";

const PREFER_FILE_TOOLS =
  " Prefer read_file, patch, write_file and search_files to cat, sed, heredocs and grep.";

/** Runs a command in the session's environment, in the foreground or in the background. */
export function createTerminal(parts: ToolParts, { hasFileTools }: { readonly hasFileTools: boolean }): Tool {
  const { limits } = parts;
  return defineTool({
    name: "terminal",
    toolset: "terminal",
    description: `Run a shell command. The folder and exported variables persist across calls; processes do not survive a timeout (default ${limits.timeout} s, at most ${limits.maxForegroundTimeout}). Use background for longer commands, then the process tool.${hasFileTools ? PREFER_FILE_TOOLS : ""}`,
    input: terminalInput,
    hidden: [
      ...(parts.canNotify ? [] : ["notify_on_complete", "watch_patterns"]),
      ...(parts.hasSandbox ? [] : ["outside_sandbox"]),
    ],
    mutates: true,
    effectsOf: ({ command, workdir, background, outside_sandbox }) => ({
      commands: [command],
      cwd: workdir,
      startsJob: background,
      leavesSandbox: parts.hasSandbox === true && outside_sandbox,
    }),
    refuse: (error, hint) =>
      refuseCommand({ error, hint, status: hint === undefined ? "error" : "degraded" }),
    lookUp: (callId, signal) => inspectCommand(parts, callId, signal),
    warm() {
      refuseMarkedCommand(HARMLESS_COMMAND);
      adviseForeground(HARMLESS_COMMAND);
      parts.redact(plainOutput(formatTerminalResult({ exit_code: 0 }, "done")));
    },
    async run(call, context) {
      if (call.command.includes("\0"))
        return refuseCommand({ error: "A command cannot contain a NUL byte.", status: "error" });
      const marked = refuseMarkedCommand(call.command);
      if (marked !== undefined) return refuseCommand({ error: marked, status: "blocked" });
      const bad = call.workdir === undefined ? null : BAD_IN_PATH.exec(call.workdir);
      if (bad !== null) {
        const error = `workdir may not contain ${JSON.stringify(bad[0])}.`;
        return refuseCommand({ error, status: "blocked" });
      }
      if (call.background && call.outside_sandbox && parts.hasSandbox)
        return refuseCommand({ error: "A background command cannot leave the sandbox.", status: "error" });
      if (call.background) return startInBackground(parts, call, context.signal);
      if (call.timeout !== undefined && call.timeout > limits.maxForegroundTimeout) {
        const error = `A foreground command may take ${limits.maxForegroundTimeout} s at most. Start it with background: true and use the process tool.`;
        return refuseCommand({ error, status: "error" });
      }
      const { refusal, hint } = adviseForeground(call.command);
      if (refusal !== undefined) return refuseCommand({ error: refusal, status: "error" });
      return runForeground(parts, call, hint, context);
    },
  });
}

async function runForeground(
  parts: ToolParts,
  call: TerminalInput,
  hint: string | undefined,
  { callId, signal, onProgress }: ToolCallContext,
): Promise<ToolResult> {
  const { command, timeout = parts.limits.timeout } = call;
  const opened = await parts.openEnvironment(signal);
  const outside = call.outside_sandbox ? opened.environment.outside : undefined;
  const environment = outside ?? opened.environment;
  // Variables and functions that sandboxed commands have defined must not run outside; only the folder is the same.
  const session = outside?.openSession() ?? opened.session;
  const workdir = resolveWorkdir(call, opened.session) ?? (outside && opened.session.cwd);
  const cwdBefore = session.cwd;
  await using window = parts.createWindow();
  // Collapse progress lines before the window, so that their old states do not displace real output.
  const progress = createProgressCollapser();
  using lines = createLineReporter((line) => onProgress(parts.redact(line)));
  const ending = new AbortController();
  let moved: ReturnType<typeof parts.moved.add> | undefined;
  const running = environment.run(
    {
      command,
      session,
      workdir,
      timeoutMs: timeout * 1_000,
      mark: createCommandMark(parts.owner, callId),
      mergeStderr: true,
      isDetached: () => moved !== undefined,
      onOutput(_, bytes) {
        if (moved !== undefined) return moved.take(progress.take(bytes));
        lines.take(bytes);
        return window.write(progress.take(bytes));
      },
    },
    ending.signal,
  );
  const result = await untilRedirected(running, signal, () => {
    if (signal.reason instanceof TurnRedirected && parts.moved.hasRoom) return true;
    ending.abort(signal.reason);
    return false;
  });
  if (result === undefined) {
    moved = parts.moved.add({ command: parts.redact(command), done: running, kill: () => ending.abort() });
    return describeMoved(moved.id, parts.redact(plainOutput((await window.finish()).text)).trimEnd());
  }
  await window.write(progress.end());
  const shown = await window.finish();
  const { exitCode, ended, notices, cwd } = result;
  const meaning = ended === "exited" && !result.badWorkdir ? findExitMeaning(command, exitCode) : undefined;
  const facts = {
    exit_code: exitCode,
    exit_code_meaning: meaning?.words,
    error: errorOf(result, workdir, timeout),
    status: ended === "lost" ? "degraded" : undefined,
    // Reported when it changes, because a model that mistakes its folder changes the wrong files.
    cwd: cwd === cwdBefore || outside !== undefined ? undefined : cwd,
    full_output_path: shown.spillPath,
    notices: notices.join(" ") || undefined,
    hint: [hint, describeIgnored(call)].filter((text) => text !== undefined).join(" ") || undefined,
  };
  const text = formatTerminalResult(facts, parts.redact(plainOutput(shown.text)).trimEnd());
  return ended === "exited" && (exitCode === 0 || meaning?.isAnswer) ? ok(text) : failed(text);
}

/** The result of a command; undefined as soon as the turn is stopped and `mayMove` allows the command to go on. */
async function untilRedirected(
  running: Promise<CommandResult>,
  signal: AbortSignal,
  mayMove: () => boolean,
): Promise<CommandResult | undefined> {
  let onAbort = (): void => undefined;
  const redirected = new Promise<undefined>((resolve) => {
    onAbort = () => {
      if (mayMove()) resolve(undefined);
    };
    if (signal.aborted) onAbort();
    else signal.addEventListener("abort", onAbort, { once: true });
  });
  try {
    return await Promise.race([running, redirected]);
  } finally {
    signal.removeEventListener("abort", onAbort);
  }
}

function describeMoved(id: string, output: string): ToolResult {
  const facts = {
    session_id: id,
    status: "running",
    notices:
      "The user sent a new message, so this command was moved to the background, where it goes on until it ends or Hermes exits. Control it with the process tool: poll, log, wait, kill.",
  };
  return { ...ok(formatTerminalResult(facts, output)), continues: true };
}

/** The minimum time between two reports of the last line of a running command. */
const REPORT_EVERY_MS = 200;
const REPORTED_BYTES = 500;

/**
 * Reports the last line of the output from time to time, so that a person sees what a long command does. After the last output,
 * its line is reported too, because it often says what the command waits for.
 */
function createLineReporter(report: (line: string) => void): Disposable & { take(bytes: Uint8Array): void } {
  let latest = "";
  let reporting: NodeJS.Timeout | undefined;
  return {
    take(bytes) {
      const text = plainOutput(new TextDecoder().decode(bytes.subarray(-REPORTED_BYTES)));
      const line = text.split(/[\r\n]/).findLast((one) => one.trim() !== "");
      if (line === undefined) return;
      latest = line.trim();
      reporting ??= setTimeout(() => {
        reporting = undefined;
        report(latest);
      }, REPORT_EVERY_MS);
    },
    [Symbol.dispose]: () => clearTimeout(reporting),
  };
}

function describeIgnored({ pty, notify_on_complete, watch_patterns }: TerminalInput): string | undefined {
  return pty || notify_on_complete || watch_patterns.length > 0
    ? "pty, notify_on_complete and watch_patterns apply only with background: true."
    : undefined;
}

function errorOf(result: CommandResult, workdir: string | undefined, timeout: number): string | undefined {
  if (result.badWorkdir) return `The folder ${workdir ?? result.cwd ?? "of the session"} does not exist.`;
  const fate = describeFate(result);
  if (result.ended === "timed-out")
    return `Timed out after ${timeout} s; ${fate} Allow more time, or use background: true.`;
  if (result.ended === "stopped") return `Stopped before it had finished; ${fate}`;
  if (result.ended === "lost")
    return "The shell of this command was lost; the command was not run again, and its outcome is unknown.";
  return undefined;
}

/** Whether the processes of a command that did not end by itself have ended. */
function describeFate({ survivors }: CommandResult): string {
  if (survivors === undefined) return "it is unknown whether it and its children have ended.";
  if (survivors.length === 0) return "it and its children were ended.";
  return `these processes could not be ended: ${survivors.map(({ pid }) => pid).join(", ")}.`;
}

/** Starts a background command and returns its id for the process tool. */
async function startInBackground(
  parts: ToolParts,
  call: TerminalInput,
  signal: AbortSignal,
): Promise<ToolResult> {
  const { jobs: openJobs, session } = await parts.openEnvironment(signal);
  const jobs = await openJobs(signal);
  const started = await jobs.start(
    call.command,
    {
      session,
      owner: parts.owner,
      lifetime: "session",
      workdir: resolveWorkdir(call, session),
      pty: call.pty,
      notify: call.notify_on_complete && parts.canNotify,
      watch: parts.canNotify ? call.watch_patterns : [],
    },
    signal,
  );
  if (started.kind === "failed-start") return refuseCommand({ error: started.message, status: "error" });
  const { job, notes } = started;
  // Jobs of other sessions stay hidden, even if they run the same command.
  const alike = started.sameCommandJobs.filter(({ owner }) => owner === parts.owner);
  return okJson({
    session_id: job.id,
    pid: job.process?.pid,
    status: "running",
    same_command_runs_as: alike.length > 0 ? alike.map(({ id }) => id) : undefined,
    notes: notes.length > 0 ? notes : undefined,
    hint: hintOf(call, parts.canNotify),
  });
}

function hintOf(
  { notify_on_complete, watch_patterns }: TerminalInput,
  canNotify: boolean,
): string | undefined {
  const wantsNotification = notify_on_complete || watch_patterns.length > 0;
  if (wantsNotification && canNotify) return undefined;
  if (wantsNotification) return "This session cannot be notified later: poll with the process tool.";
  return "Control it with the process tool: poll, log, wait, kill.";
}
