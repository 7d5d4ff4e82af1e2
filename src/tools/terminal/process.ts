import { z } from "zod";
import type { JobRecord } from "../../environments/jobs/job.ts";
import type { InputOutcome } from "../../environments/jobs/jobs.ts";
import { AppError } from "../../lib/errors.ts";
import { defineTool, failedJson, okJson } from "../define-tool.ts";
import type { Tool, ToolResult } from "../tool.ts";
import type { ToolParts } from "../workspace.ts";

const input = z.strictObject({
  action: z.enum(["list", "poll", "log", "wait", "kill", "write", "submit", "close"]),
  session_id: z.coerce.string().optional().describe("Id of the process, or the start of it"),
  data: z.string().optional().describe("For write and submit (submit adds a newline)"),
  timeout: z.number().optional().describe("Seconds for wait"),
  offset: z.int().min(0).optional().describe("First line of log; the last lines unless given"),
  limit: z.int().min(1).optional().describe("Lines of log"),
});
type Input = z.infer<typeof input>;

/** What a tool may do with background processes, its own session's alone. */
export function createProcess(parts: ToolParts): Tool {
  return defineTool({
    name: "process",
    toolset: "terminal",
    description:
      "Look after background processes started by terminal: list, poll, log, wait, kill, write to their input.",
    input,
    mutates: true,
    async run(call, { signal }) {
      try {
        return await act(parts, call, signal);
      } catch (error) {
        if (!(error instanceof AppError) || signal.aborted) throw error;
        return failedJson({ error: error.message, hint: error.hint });
      }
    },
  });
}

async function act(parts: ToolParts, call: Input, signal: AbortSignal): Promise<ToolResult> {
  const jobs = await (await parts.workspace(signal)).jobs(signal);
  const ours = async (): Promise<JobRecord[]> =>
    (await jobs.list(signal)).filter(({ owner }) => owner === parts.owner);
  if (call.action === "list") return okJson({ processes: (await ours()).map(describe) });
  if (call.session_id === undefined) return failedJson({ error: `${call.action} needs session_id.` });
  const status = await jobs.poll(call.session_id, signal);
  // Another session's processes are none of its business.
  if (status.job.owner !== parts.owner)
    return failedJson({ error: `there is no process ${call.session_id}` });
  const { id } = status.job;
  switch (call.action) {
    case "poll":
      return okJson({
        ...describe(status.job),
        uptime_seconds: Math.round(status.uptimeMs / 1_000),
        output: status.preview,
      });
    case "log": {
      const page = await jobs.log(id, pageOf(call), signal);
      const { text, offset, totalLines, isCut } = page;
      return okJson({
        ...describe(page.job),
        offset,
        total_lines: totalLines,
        cut: isCut || undefined,
        output: text,
      });
    }
    case "wait": {
      const most = parts.limits.timeout;
      const seconds = call.timeout ?? most;
      if (seconds <= 0) return failedJson({ error: "timeout must be greater than 0." });
      const { kind, job } = await jobs.wait(id, Math.min(seconds, most) * 1_000, signal);
      const note =
        kind === "timed-out"
          ? `It still runs after ${Math.min(seconds, most)} s${seconds > most ? ` (at most ${most} s at a time)` : ""}.`
          : undefined;
      return okJson({ status: kind, ...describe(job), note });
    }
    case "kill": {
      const { kind, job, survivors } = await jobs.kill(id, signal);
      const body = { status: kind, ...describe(job) };
      return kind === "survived"
        ? failedJson({ ...body, error: "It could not be ended.", survivors })
        : okJson(body);
    }
    case "write":
    case "submit": {
      if (call.data === undefined) return failedJson({ error: `${call.action} needs data.` });
      return inputResult(await jobs[call.action](id, call.data, signal));
    }
    case "close":
      return inputResult(await jobs.close(id, signal));
  }
}

function pageOf({ offset, limit }: Input): { offset?: number; limit?: number } {
  return { ...(offset !== undefined && { offset }), ...(limit !== undefined && { limit }) };
}

function describe({ id, command, state, reason, exitCode, process }: JobRecord) {
  return { session_id: id, command, state, reason, exit_code: exitCode, pid: process?.pid };
}

const INPUT_WORDS: Readonly<Record<Exclude<InputOutcome, "written">, string>> = {
  ended: "It has ended.",
  "no-input": "It takes no input: it was not started with pty.",
  closed: "Its input is closed.",
  blocked: "It does not read its input; a part of the data at most was written.",
};

function inputResult(outcome: InputOutcome): ToolResult {
  return outcome === "written" ? okJson({ status: "written" }) : failedJson({ error: INPUT_WORDS[outcome] });
}
