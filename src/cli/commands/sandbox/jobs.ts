import { StringDecoder } from "node:string_decoder";
import { openSandboxJobs, type SandboxJobs } from "../../../app/environments/sandbox.ts";
import { listSandboxJobs } from "../../../app/environments/sandbox-jobs.ts";
import type { JobRecord } from "../../../environments/jobs/job.ts";
import { formatCommandLine } from "../../../environments/jobs/job-command.ts";
import { AppError } from "../../../lib/errors.ts";
import type { CommandContext } from "../../context.ts";
import { renderTable } from "../../terminal/table.ts";
import { followOutput, writeRaw } from "./follow-output.ts";
import { createSandboxRequest } from "./sandbox-context.ts";

/** The owner of jobs that a user starts; no session has this name. */
const USER = "person";

interface StartOptions {
  readonly task: string;
  readonly workdir?: string;
  readonly pty?: boolean;
  readonly input?: boolean;
  readonly json?: boolean;
}

export async function listJobs(
  context: CommandContext,
  { task, all, json }: { task: string; all?: boolean; json?: boolean },
): Promise<void> {
  const { app, request } = await createSandboxRequest(context, task);
  const { jobs: listed, problem } = await listSandboxJobs(app, request, context.signal);
  if (problem !== undefined)
    context.terminal.note(
      `hermes: the jobs could not be inspected; showing their last known state: ${problem}`,
    );
  const shown = listed.filter(({ state }) => all || state !== "ended");
  if (json) return context.terminal.printJson(shown.map(describe));
  if (shown.length === 0) {
    const more = listed.length > 0 ? " Use --all to include ended jobs." : "";
    return context.terminal.print(`No jobs are running.${more}`);
  }
  const cells = shown.map((job) => [
    job.id,
    stateOf(job),
    new Date(job.startedAt).toISOString(),
    job.lifetime,
    job.input === "none" ? "" : job.input,
    formatCommandLine(job.command),
  ]);
  const header = ["ID", "STATE", "STARTED", "LIFETIME", "INPUT", "COMMAND"];
  context.terminal.print(renderTable(header, cells, context.terminal));
}

async function openJobs(context: CommandContext, task: string): Promise<SandboxJobs> {
  const { app, request } = await createSandboxRequest(context, task);
  return openSandboxJobs(app, request, context.signal);
}

export async function startJob(
  context: CommandContext,
  words: readonly string[],
  { task, workdir, pty, input, json }: StartOptions,
): Promise<void> {
  const { terminal, signal } = context;
  await using opened = await openJobs(context, task);
  if (!opened.lasts) throw ephemeralSandbox();
  const started = await opened.jobs.start(
    words.join(" "),
    {
      session: opened.environment.openSession(),
      owner: USER,
      lifetime: "persistent", // a user ends their own jobs
      workdir,
      takesInput: input ?? false,
      pty: pty ?? false,
    },
    signal,
  );
  if (started.kind === "failed-start")
    throw new AppError("job-unstarted", `The job was not started: ${started.message}.`);
  for (const note of started.notes) terminal.note(`hermes: ${note}`);
  for (const { id } of started.sameCommandJobs)
    terminal.note(`hermes: ${id} runs the same command in the same folder.`);
  if (json)
    terminal.printJson({ ...describe(started.job), alike: started.sameCommandJobs.map(({ id }) => id) });
  else terminal.print(started.job.id);
}

/** The error for a sandbox that is removed, with its jobs, when this command ends. */
function ephemeralSandbox(): AppError {
  return new AppError(
    "job-unstarted",
    "The job was not started: its sandbox would be removed when this command ends, because terminal.docker_persist_across_processes is false.",
    {
      hint: "Run it with `hermes sandbox exec`, or keep sandboxes: `hermes config set terminal.docker_persist_across_processes true`.",
    },
  );
}

export async function printLog(
  context: CommandContext,
  id: string,
  { task, follow }: { task: string; follow?: boolean },
): Promise<void> {
  await using opened = await openJobs(context, task);
  const onDropped = (bytes: number): void =>
    context.terminal.note(`hermes: ${bytes} bytes of output were discarded.`);
  const decoder = new StringDecoder("utf8"); // keeps an incomplete character until the rest arrives
  const write = async (bytes: Uint8Array): Promise<void> => {
    if (context.terminal.columns === undefined) await writeRaw(bytes, context.streams.stdout, context.signal);
    else context.terminal.write(decoder.write(Buffer.from(bytes)));
  };
  await followOutput(opened.jobs, id, { from: 0, follow: follow ?? false, onDropped, write }, context.signal);
}

export async function killJob(
  context: CommandContext,
  id: string,
  { task, json }: { task: string; json?: boolean },
): Promise<void> {
  await using opened = await openJobs(context, task);
  const { kind, job, survivors } = await opened.jobs.kill(id, context.signal);
  if (kind === "survived") {
    const pids = survivors.map(({ pid }) => pid).join(", ");
    throw new AppError("job-survived", `${job.id} could not be killed: process ${pids} survived.`);
  }
  if (json) context.terminal.printJson({ outcome: kind, ...describe(job) });
  else context.terminal.note(`${job.id}: ${kind === "killed" ? "killed" : "had already ended"}.`);
}

function describe(job: JobRecord): object {
  return {
    id: job.id,
    state: job.state,
    reason: job.reason ?? null,
    exit_code: job.exitCode ?? null,
    out_of_memory: job.ranOutOfMemory,
    command: job.command,
    cwd: job.cwd ?? null,
    owner: job.owner,
    lifetime: job.lifetime,
    input: job.input,
    started_at: new Date(job.startedAt).toISOString(),
    ended_at: job.endedAt === undefined ? null : new Date(job.endedAt).toISOString(),
    expires_at: job.expiresAt === undefined ? null : new Date(job.expiresAt).toISOString(),
  };
}

function stateOf({ state, reason, exitCode, ranOutOfMemory }: JobRecord): string {
  if (state !== "ended") return state;
  if (ranOutOfMemory) return "out of memory";
  return reason === "exited" ? `exited ${exitCode}` : (reason ?? state);
}
