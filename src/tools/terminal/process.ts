import { z } from "zod";
import type { JobRecord } from "../../environments/jobs/job.ts";
import type { InputOutcome, Jobs } from "../../environments/jobs/jobs.ts";
import { defineTool, failedJson, okJson } from "../define-tool.ts";
import type { Tool, ToolResult } from "../tool.ts";
import type { ToolParts } from "../workspace.ts";
import { plainOutput } from "./plain-output.ts";

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
    refuse: (error, hint) => failedJson({ error, hint }),
    run: (call, { signal }) => act(parts, call, signal),
  });
}

async function act(parts: ToolParts, call: Input, signal: AbortSignal): Promise<ToolResult> {
  const jobs = await (await parts.workspace(signal)).jobs(signal);
  const ours = (await jobs.list(signal)).filter(({ owner }) => owner === parts.owner);
  if (call.action === "list") return okJson({ processes: ours.map(describe) });
  if (call.session_id === undefined) return failedJson({ error: `${call.action} needs session_id.` });
  // Looked for among our own alone: whether another session has such a process is none of its business.
  const [job, other] = ours.filter(({ id }) => isMeant(id, call.session_id));
  if (job === undefined || other !== undefined) {
    const error = `There is no process ${call.session_id}${other === undefined ? "" : " alone: give more of its id"}.`;
    return failedJson({ error, processes: ours.map(({ id }) => id) });
  }
  const { id } = job;
  switch (call.action) {
    case "poll": {
      const status = await jobs.poll(id, signal);
      const uptime = Math.round(status.uptimeMs / 1_000);
      return okJson({ ...describe(status.job), uptime_seconds: uptime, output: shown(status.preview) });
    }
    case "log": {
      const { job: now, text, offset, totalLines, isCut } = await jobs.log(id, pageOf(call), signal);
      const page = { offset, total_lines: totalLines, cut: isCut || undefined };
      return okJson({ ...describe(now), ...page, output: shown(text) });
    }
    case "wait":
      return wait(jobs, id, call.timeout, parts.limits.timeout, signal);
    case "kill": {
      const { kind, job: now, survivors } = await jobs.kill(id, signal);
      const body = { status: kind, ...describe(now) };
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

/** A whole id, or four of its hex digits and more. */
function isMeant(id: string, asked = ""): boolean {
  const [, digits] = /^(?:proc_)?([0-9a-f]{4,12})$/.exec(asked.trim()) ?? [];
  return digits !== undefined && id.startsWith(`proc_${digits}`);
}

async function wait(
  jobs: Jobs,
  id: string,
  asked: number | undefined,
  most: number,
  signal: AbortSignal,
): Promise<ToolResult> {
  if (asked !== undefined && asked <= 0) return failedJson({ error: "timeout must be greater than 0." });
  const seconds = Math.min(asked ?? most, most);
  const { kind, job } = await jobs.wait(id, seconds * 1_000, signal);
  const notes = [
    kind === "ended" ? undefined : `It still runs${kind === "timed-out" ? ` after ${seconds} s` : ""}.`,
    asked !== undefined && asked > most ? `At most ${most} s are waited at a time.` : undefined,
  ].filter((note) => note !== undefined);
  return okJson({
    status: WAIT_WORDS[kind],
    ...describe(job),
    note: notes.join(" ") || undefined,
    output: kind === "ended" ? shown((await jobs.poll(id, signal)).preview) : undefined,
  });
}

const WAIT_WORDS = { ended: "exited", "timed-out": "timeout", interrupted: "interrupted" } as const;

/** The same as for a foreground command: what colours a terminal says nothing to a model. */
function shown(output: string): string {
  return plainOutput(output).trimEnd();
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
