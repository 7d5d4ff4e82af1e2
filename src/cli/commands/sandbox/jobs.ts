import { StringDecoder } from "node:string_decoder";
import {
  openJobRecords,
  openNotifyingEnvironment,
  openSandboxJobs,
  quietReporter,
  type SandboxJobs,
} from "../../../app/environments/sandbox.ts";
import { createDockerRequest } from "../../../environments/docker/engine/prepare-docker.ts";
import { findSandbox } from "../../../environments/docker/lifecycle/find-sandbox.ts";
import type { EnvironmentRequest } from "../../../environments/environment-request.ts";
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
  const listed = await refreshJobs(context, task);
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

/** Returns all job records. The sandbox is opened only if a job has not ended yet, to read its current state. */
async function refreshJobs(context: CommandContext, task: string): Promise<readonly JobRecord[]> {
  const { app, request } = await createSandboxRequest(context, task);
  using held = await openJobRecords(app, request, context.signal);
  const known = held.store.list();
  if (known.every(({ state }) => state === "ended")) return known;
  try {
    // A stopped sandbox is not started. The state is not recorded, because a later poll may find an exit code.
    if (!(await isRunning(request, context.signal)))
      return known.map((job) => (job.state === "running" ? { ...job, state: "ended", reason: "lost" } : job));
    await using environment = await openNotifyingEnvironment(request, context.signal);
    return await held.jobsOf(environment).list(context.signal);
  } catch (error) {
    if (!(error instanceof AppError) || context.signal.aborted) throw error;
    context.terminal.note(
      `hermes: the jobs could not be inspected; showing their last known state: ${error.message}`,
    );
    return held.store.list();
  }
}

/** Whether the sandbox is running and so can have processes. */
async function isRunning(request: EnvironmentRequest, signal: AbortSignal): Promise<boolean> {
  const quiet = { ...request, reporter: quietReporter }; // notices are reported when the sandbox is opened
  switch (request.options.backend) {
    case "docker":
    case "podman": {
      const { engine, spec } = await createDockerRequest(quiet, signal);
      const state = (await findSandbox(engine, spec, signal))?.state;
      return state === "running" || state === "paused";
    }
    case "singularity": {
      const { prepareSingularity } = await import("../../../environments/singularity/prepare-singularity.ts");
      const { findInstance } = await import("../../../environments/singularity/instance.ts");
      const { engine, spec } = await prepareSingularity(quiet, signal);
      return (await findInstance(engine, spec.name, signal)) !== undefined;
    }
    default:
      return true;
  }
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
