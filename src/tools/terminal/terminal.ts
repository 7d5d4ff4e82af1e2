import type { CommandResult } from "../../environments/environment.ts";
import { defineTool, failed, ok } from "../define-tool.ts";
import type { Tool, ToolCallContext, ToolResult } from "../tool.ts";
import type { ToolParts } from "../workspace.ts";
import { adviseForeground } from "./advise-foreground.ts";
import { createProgressCollapser } from "./collapse-progress.ts";
import { exitMeaning } from "./exit-meaning.ts";
import { lookUpCommand, markOf } from "./look-up-command.ts";
import { plainOutput } from "./plain-output.ts";
import { startInBackground } from "./start-in-background.ts";
import { folderOf, nothingRan, type TerminalInput, terminalInput } from "./terminal-input.ts";
import { terminalText } from "./terminal-result.ts";

/** Quoting is ours to do; these are in no folder's name that anybody means. */
const BAD_IN_PATH = /[^\p{L}\p{M}\p{N}/\\:_\-.~ +@=,()[\]]/u;

const PREFER_FILE_TOOLS =
  " Prefer read_file, patch, write_file and search_files to cat, sed, heredocs and grep.";

/** Runs a command in the session's environment, or starts one that nobody waits for. */
export function createTerminal(parts: ToolParts, { hasFileTools }: { readonly hasFileTools: boolean }): Tool {
  const { limits } = parts;
  return defineTool({
    name: "terminal",
    toolset: "terminal",
    description: `Run a shell command. The folder and exported variables stay for the next call; processes do not survive a timeout (default ${limits.timeout} s, at most ${limits.maxForegroundTimeout}). Use background for what runs longer, then the process tool.${hasFileTools ? PREFER_FILE_TOOLS : ""}`,
    input: terminalInput,
    hidden: parts.canNotify ? [] : ["notify_on_complete", "watch_patterns"],
    mutates: true,
    commandsOf: ({ command }) => [command],
    refuse: (error, hint) => nothingRan({ error, hint, status: hint === undefined ? "error" : "degraded" }),
    lookUp: (callId, signal) => lookUpCommand(parts, callId, signal),
    async run(call, context) {
      if (call.command.includes("\0"))
        return nothingRan({ error: "A command cannot contain a NUL byte.", status: "error" });
      const bad = call.workdir === undefined ? null : BAD_IN_PATH.exec(call.workdir);
      if (bad !== null) {
        const error = `workdir may not contain ${JSON.stringify(bad[0])}.`;
        return nothingRan({ error, status: "blocked" });
      }
      if (call.background) return startInBackground(parts, call, context.signal);
      if (call.timeout !== undefined && call.timeout > limits.maxForegroundTimeout) {
        const error = `A foreground command may take ${limits.maxForegroundTimeout} s at most. Start it with background: true and use the process tool.`;
        return nothingRan({ error, status: "error" });
      }
      const { refusal, hint } = adviseForeground(call.command);
      if (refusal !== undefined) return nothingRan({ error: refusal, status: "error" });
      return runForeground(parts, call, hint, context);
    },
  });
}

async function runForeground(
  parts: ToolParts,
  call: TerminalInput,
  hint: string | undefined,
  { callId, signal }: ToolCallContext,
): Promise<ToolResult> {
  const { command, timeout = parts.limits.timeout } = call;
  const { environment, session } = await parts.workspace(signal);
  const workdir = folderOf(call, session);
  const cwdBefore = session.cwd;
  await using window = parts.createWindow();
  // In front of the window: what a progress line was before would push real output out of it.
  const progress = createProgressCollapser();
  const result = await environment.run(
    {
      command,
      session,
      workdir,
      timeoutMs: timeout * 1_000,
      mark: markOf(parts.owner, callId),
      mergeStderr: true,
      onOutput: (_, bytes) => window.write(progress.take(bytes)),
    },
    signal,
  );
  await window.write(progress.end());
  const shown = await window.finish();
  const { exitCode, ended, notices, cwd } = result;
  const meaning = ended === "exited" && !result.badWorkdir ? exitMeaning(command, exitCode) : undefined;
  const facts = {
    exit_code: exitCode,
    exit_code_meaning: meaning?.words,
    error: errorOf(result, workdir, timeout),
    status: ended === "lost" ? "degraded" : undefined,
    // Said when it is news: whoever thinks to be elsewhere changes the wrong files.
    cwd: cwd === cwdBefore ? undefined : cwd,
    full_output_path: shown.spillPath,
    notices: notices.join(" ") || undefined,
    hint: [hint, ignoredWords(call)].filter((text) => text !== undefined).join(" ") || undefined,
  };
  const text = terminalText(facts, parts.redact(plainOutput(shown.text)).trimEnd());
  return ended === "exited" && (exitCode === 0 || meaning?.isAnswer) ? ok(text) : failed(text);
}

function ignoredWords({ pty, notify_on_complete, watch_patterns }: TerminalInput): string | undefined {
  return pty || notify_on_complete || watch_patterns.length > 0
    ? "pty, notify_on_complete and watch_patterns count only with background: true."
    : undefined;
}

function errorOf(result: CommandResult, workdir: string | undefined, timeout: number): string | undefined {
  if (result.badWorkdir) return `The folder ${workdir ?? result.cwd ?? "of the session"} does not exist.`;
  const rest =
    result.survivors.length === 0
      ? "it and its children were ended."
      : `these processes could not be ended: ${result.survivors.map(({ pid }) => pid).join(", ")}.`;
  if (result.ended === "timed-out")
    return `Timed out after ${timeout} s; ${rest} Allow more time, or use background: true.`;
  if (result.ended === "stopped") return `Stopped by the user; ${rest}`;
  if (result.ended === "lost")
    return "The shell of this command was lost; it was not run again, and whether it did its work is unknown.";
  return undefined;
}
