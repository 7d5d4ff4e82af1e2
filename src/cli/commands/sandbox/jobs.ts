import { StringDecoder } from "node:string_decoder";
import { findSandbox } from "../../../environments/docker/find-sandbox.ts";
import { describeDocker } from "../../../environments/docker/prepare-docker.ts";
import type { EnvironmentRequest } from "../../../environments/environment-request.ts";
import type { JobRecord } from "../../../environments/jobs/job.ts";
import { oneLine } from "../../../environments/jobs/seen-job.ts";
import { openEnvironment } from "../../../environments/open-environment.ts";
import { AppError } from "../../../lib/errors.ts";
import type { CommandContext } from "../../context.ts";
import { renderTable } from "../../table.ts";
import { followOutput, writeRaw } from "./follow-output.ts";
import { openJobPlace, openRecords } from "./job-place.ts";

/** Under whose name a person's jobs are kept; no session has it. */
const PERSON = "person";

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
  const listed = await lookAtJobs(context, task);
  const shown = listed.filter(({ state }) => all || state !== "ended");
  if (json) return context.terminal.printJson(shown.map(describe));
  if (shown.length === 0) {
    const more = listed.length > 0 ? " Those that are over are shown with --all." : "";
    return context.terminal.print(`No job runs there.${more}`);
  }
  const cells = shown.map((job) => [
    job.id,
    stateOf(job),
    new Date(job.startedAt).toISOString(),
    job.lifetime,
    job.input === "none" ? "" : job.input,
    oneLine(job.command),
  ]);
  const header = ["ID", "STATE", "STARTED", "LIFETIME", "INPUT", "COMMAND"];
  context.terminal.print(renderTable(header, cells, context.terminal));
}

/** All records; those of jobs that are not over are looked at anew, and only then is there need for the sandbox. */
async function lookAtJobs(context: CommandContext, task: string): Promise<readonly JobRecord[]> {
  const { request, records } = await openRecords(context, task);
  using held = records;
  const known = held.store.list();
  if (known.every(({ state }) => state === "ended")) return known;
  try {
    // Only to look: what does not run is not started. Nothing is recorded, because a later look may find an exit code.
    if (!(await runs(request, context.signal)))
      return known.map((job) => (job.state === "running" ? { ...job, state: "ended", reason: "lost" } : job));
    await using environment = await openEnvironment(request, context.signal);
    return await held.jobsOf(environment).list(context.signal);
  } catch (error) {
    if (!(error instanceof AppError) || context.signal.aborted) throw error;
    context.terminal.note(
      `hermes: the jobs could not be looked at, this is what was last known: ${error.message}`,
    );
    return held.store.list();
  }
}

/** Whether there can be processes in the place at all. */
async function runs(request: EnvironmentRequest, signal: AbortSignal): Promise<boolean> {
  const reporter = { onNotice: () => undefined, onProgress: () => undefined }; // told when the place is opened
  const quiet = { ...request, reporter };
  switch (request.options.backend) {
    case "docker":
    case "podman": {
      const { engine, spec } = await describeDocker(quiet, signal);
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

export async function startJob(
  context: CommandContext,
  words: readonly string[],
  { task, workdir, pty, input, json }: StartOptions,
): Promise<void> {
  const { terminal, signal } = context;
  await using place = await openJobPlace(context, task);
  if (!place.lasts) throw unlasting();
  const started = await place.jobs.start(
    words.join(" "),
    {
      session: place.environment.openSession(),
      owner: PERSON,
      lifetime: "persistent", // a person ends what they started
      workdir,
      takesInput: input ?? false,
      pty: pty ?? false,
    },
    signal,
  );
  if (started.kind === "failed-start")
    throw new AppError("job-unstarted", `The job was not started: ${started.message}.`);
  for (const note of started.notes) terminal.note(`hermes: ${note}`);
  for (const { id } of started.alike)
    terminal.note(`hermes: ${id} runs the same command in the same folder.`);
  if (json) terminal.printJson({ ...describe(started.job), alike: started.alike.map(({ id }) => id) });
  else terminal.print(started.job.id);
}

/** A job in a sandbox that goes with this command would be over before its id is read. */
function unlasting(): AppError {
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
  await using place = await openJobPlace(context, task);
  const onDropped = (bytes: number): void =>
    context.terminal.note(`hermes: ${bytes} bytes of its output were not kept.`);
  const decoder = new StringDecoder("utf8"); // holds back a character that is not whole yet
  const write = async (bytes: Uint8Array): Promise<void> => {
    if (context.terminal.columns === undefined) await writeRaw(bytes, context.streams.stdout, context.signal);
    else context.terminal.write(decoder.write(Buffer.from(bytes)));
  };
  await followOutput(place.jobs, id, { from: 0, follow: follow ?? false, onDropped, write }, context.signal);
}

export async function killJob(
  context: CommandContext,
  id: string,
  { task, json }: { task: string; json?: boolean },
): Promise<void> {
  await using place = await openJobPlace(context, task);
  const { kind, job, survivors } = await place.jobs.kill(id, context.signal);
  if (kind === "survived") {
    const pids = survivors.map(({ pid }) => pid).join(", ");
    throw new AppError("job-survived", `${job.id} could not be ended: process ${pids} lives on there.`);
  }
  if (json) context.terminal.printJson({ outcome: kind, ...describe(job) });
  else context.terminal.note(`${job.id}: ${kind === "killed" ? "killed" : "was over already"}.`);
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
