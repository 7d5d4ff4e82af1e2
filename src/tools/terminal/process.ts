import { z } from "zod";
import type { JobRecord } from "../../environments/jobs/job.ts";
import type { InputOutcome, Jobs } from "../../environments/jobs/jobs.ts";
import { defineTool, failedJson, okJson } from "../define-tool.ts";
import type { Tool, ToolResult } from "../tool.ts";
import type { ToolParts } from "../tool-parts.ts";
import { describeMoved, runMovedAction } from "./process-of-moved.ts";
import { refuseMarkedText } from "./refuse-marks.ts";
import { matchesId, TypedLines } from "./typed-lines.ts";

const input = z.strictObject({
  action: z.enum(["list", "poll", "log", "wait", "kill", "write", "submit", "close"]),
  session_id: z.coerce.string().optional().describe("Id of the process, or a prefix of it"),
  data: z.string().optional().describe("For write and submit (submit adds a newline)"),
  timeout: z.number().optional().describe("Seconds for wait"),
  offset: z.int().min(0).optional().describe("First line of log; the last lines unless given"),
  limit: z.int().min(1).optional().describe("Lines of log"),
});
type Input = z.infer<typeof input>;

const READING: ReadonlySet<Input["action"]> = new Set(["list", "poll", "log", "wait"]);

/** Controls the background processes of the tool's own session. */
export function createProcess(parts: ToolParts): Tool {
  const typed = new TypedLines();
  return defineTool({
    name: "process",
    toolset: "terminal",
    description:
      "Manage background processes started by terminal: list, poll, log, wait, kill, write to their input.",
    input,
    mutates: true,
    effectsOf: ({ action, session_id: id = "", data }) =>
      READING.has(action)
        ? { changesNothing: true }
        : // If the job is a shell, it executes each complete line of its input.
          { jobs: [id], ...(data !== undefined && { commands: [typed.lineWith(id, data)] }) },
    refuse: (error, hint) => failedJson({ error, hint }),
    run: (call, { signal }) => runAction(parts, typed, call, signal),
  });
}

async function runAction(
  parts: ToolParts,
  typed: TypedLines,
  call: Input,
  signal: AbortSignal,
): Promise<ToolResult> {
  const moved = parts.moved.list();
  const own = moved.find(({ id }) => id === call.session_id);
  if (own !== undefined && call.action !== "list") {
    const { action, offset, limit } = call;
    const seconds = Math.min(call.timeout ?? parts.limits.timeout, parts.limits.timeout);
    return runMovedAction(own, { action, offset, limit, seconds }, parts.redact, signal);
  }
  const jobs = await (await parts.openEnvironment(signal)).jobs(signal);
  const ours = (await jobs.list(signal)).filter(({ owner }) => owner === parts.owner);
  if (call.action === "list")
    return okJson({ processes: [...ours.map(describe), ...moved.map(describeMoved)] });
  if (call.session_id === undefined) return failedJson({ error: `${call.action} needs session_id.` });
  // Searches only this session's jobs, so that the result does not reveal processes of other sessions.
  const [job, other] = ours.filter(({ id }) => matchesId(id, call.session_id));
  if (job === undefined || other !== undefined) {
    const error =
      other === undefined
        ? `There is no process ${call.session_id}.`
        : `Several processes match ${call.session_id}; give more of the id.`;
    return failedJson({ error, processes: [...ours, ...moved].map(({ id }) => id) });
  }
  const { id } = job;
  switch (call.action) {
    case "poll": {
      const status = await jobs.poll(id, signal);
      const uptime = Math.round(status.uptimeMs / 1_000);
      return okJson({ ...describe(status.job), uptime_seconds: uptime, output: status.preview.trimEnd() });
    }
    case "log": {
      const { job: now, text, offset, totalLines, isCut } = await jobs.log(id, pageOf(call), signal);
      const page = { offset, total_lines: totalLines, cut: isCut || undefined };
      return okJson({ ...describe(now), ...page, output: text.trimEnd() });
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
      const marked = refuseMarkedText(call.data, "The data");
      if (marked !== undefined) return failedJson({ error: marked });
      const outcome = await jobs[call.action](id, call.data, signal);
      typed.add(id, call.action === "submit" ? `${call.data}\n` : call.data);
      return inputResult(outcome);
    }
    case "close":
      return inputResult(await jobs.close(id, signal));
  }
}

async function wait(
  jobs: Jobs,
  id: string,
  requested: number | undefined,
  maxSeconds: number,
  signal: AbortSignal,
): Promise<ToolResult> {
  if (requested !== undefined && requested <= 0)
    return failedJson({ error: "timeout must be greater than 0." });
  const seconds = Math.min(requested ?? maxSeconds, maxSeconds);
  const { kind, job } = await jobs.wait(id, seconds * 1_000, signal);
  const notes = [
    kind === "ended" ? undefined : `It is still running${kind === "timed-out" ? ` after ${seconds} s` : ""}.`,
    requested !== undefined && requested > maxSeconds
      ? `The longest possible wait is ${maxSeconds} s.`
      : undefined,
  ].filter((note) => note !== undefined);
  return okJson({
    status: WAIT_STATUS[kind],
    ...describe(job),
    note: notes.join(" ") || undefined,
    output: kind === "ended" ? (await jobs.poll(id, signal)).preview.trimEnd() : undefined,
  });
}

const WAIT_STATUS = { ended: "exited", "timed-out": "timeout", interrupted: "interrupted" } as const;

function pageOf({ offset, limit }: Input): { offset?: number; limit?: number } {
  return { ...(offset !== undefined && { offset }), ...(limit !== undefined && { limit }) };
}

function describe({ id, command, state, reason, exitCode, process }: JobRecord) {
  return { session_id: id, command, state, reason, exit_code: exitCode, pid: process?.pid };
}

const INPUT_ERRORS: Readonly<Record<Exclude<InputOutcome, "written">, string>> = {
  ended: "It has ended.",
  "no-input": "It takes no input: it was not started with pty.",
  closed: "Its input is closed.",
  blocked: "It does not read its input; at most a part of the data was written.",
};

function inputResult(outcome: InputOutcome): ToolResult {
  return outcome === "written" ? okJson({ status: "written" }) : failedJson({ error: INPUT_ERRORS[outcome] });
}
