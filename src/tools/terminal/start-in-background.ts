import { okJson } from "../define-tool.ts";
import type { ToolResult } from "../tool.ts";
import type { ToolParts } from "../workspace.ts";
import { folderOf, nothingRan, type TerminalInput } from "./terminal-input.ts";

/** Starts a command that nobody waits for, and says by which id the process tool knows it. */
export async function startInBackground(
  parts: ToolParts,
  call: TerminalInput,
  signal: AbortSignal,
): Promise<ToolResult> {
  const { jobs: openJobs, session } = await parts.workspace(signal);
  const jobs = await openJobs(signal);
  const started = await jobs.start(
    call.command,
    {
      session,
      owner: parts.owner,
      lifetime: "session",
      workdir: folderOf(call, session),
      pty: call.pty,
      notify: call.notify_on_complete && parts.canNotify,
      watch: parts.canNotify ? call.watch_patterns : [],
    },
    signal,
  );
  if (started.kind === "failed-start") return nothingRan({ error: started.message, status: "error" });
  const { job, notes } = started;
  // Another session's jobs are none of its business, even if they run the same.
  const alike = started.alike.filter(({ owner }) => owner === parts.owner);
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
  const wantsNews = notify_on_complete || watch_patterns.length > 0;
  if (wantsNews && canNotify) return undefined;
  if (wantsNews) return "Nobody can be told later in this session: look with the process tool.";
  return "Look at it with the process tool: poll, log, wait, kill.";
}
