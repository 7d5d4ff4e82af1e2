import { ApiError } from "../../../../api/api-error.ts";
import type { ReclaimAnswer, SandboxActionAnswer } from "../../../../api/contract/machines/sandboxes.ts";
import type { SandboxData, SandboxPlace } from "../../../../api/dashboard/data/sandbox-data.ts";
import { ensureSandbox } from "../../../../environments/docker/lifecycle/ensure-sandbox.ts";
import { findChosenSandbox, findSandbox } from "../../../../environments/docker/lifecycle/find-sandbox.ts";
import { snapshotSandbox } from "../../../../environments/docker/snapshots/snapshot-sandbox.ts";
import { LABEL } from "../../../../environments/docker/spec/labels.ts";
import { createJobCommandFinder } from "../../../../environments/jobs/job-command.ts";
import { AppError } from "../../../../lib/errors.ts";
import { openSandboxJobs } from "../../../environments/sandbox.ts";
import {
  collectGarbage,
  type EndedSandbox,
  removeChosenSandbox,
  type SandboxToEnd,
  stopChosenSandbox,
} from "../../../environments/sandbox-lifecycle.ts";
import {
  findRestoreSource,
  forkAppSandbox,
  restoreAppSandbox,
} from "../../../environments/sandbox-snapshots.ts";
import type { LoadProfile } from "../load-profile.ts";
import { openProfileDocker, requestOf } from "./profile-docker.ts";
import { listUses, requireAgreed } from "./sandbox-uses.ts";

/** The owner of jobs that a user starts; no session has this name. */
const USER = "person";

type Actions = Omit<SandboxData, "list" | "show" | "snapshots" | "watch" | "measure">;
type Change = <Result>(profile: string, act: (signal: AbortSignal) => Promise<Result>) => Promise<Result>;

/** What a person can do to sandboxes. */
export function createSandboxActions(load: LoadProfile, change: Change): Actions {
  /** Opens the engine for the task of a sandbox, and collects the notices. */
  const open = async (
    { profile, name }: SandboxPlace,
    options: { readonly mayCreate?: boolean; readonly onDrift?: "replace" },
    signal: AbortSignal,
  ) => {
    const loaded = await load(profile);
    const app = options.onDrift === undefined ? loaded : withDriftRule(loaded, options.onDrift);
    const first = await openProfileDocker(app, { recover: false }, signal);
    const container = await findChosenSandbox(first.engine, first.spec, name, signal);
    if (container === undefined)
      throw new ApiError(404, "sandbox_not_found", `This profile has no sandbox ${name}.`);
    const task = container.labels[LABEL.task] ?? "default";
    const { notices, reporter } = collectNotices();
    const docker = await openProfileDocker(app, { ...options, task, reporter }, signal);
    return { app, docker, container, task, notices };
  };
  /** Refuses to end what the person has not seen. */
  const requireSeen = async (
    { app, docker, container }: Pick<Awaited<ReturnType<typeof open>>, "app" | "docker" | "container">,
    ends: readonly string[],
    signal: AbortSignal,
  ): Promise<void> => {
    const lookUpJobs = createJobCommandFinder(app.profile.home);
    requireAgreed(await listUses(docker.engine, container, lookUpJobs, signal), ends);
  };
  const end = (
    place: SandboxPlace,
    ends: readonly string[],
    act: (
      docker: Awaited<ReturnType<typeof openProfileDocker>>,
      chosen: SandboxToEnd,
      signal: AbortSignal,
    ) => Promise<EndedSandbox>,
  ): Promise<SandboxActionAnswer> =>
    change(place.profile, async (signal) => {
      const opened = await open(place, {}, signal);
      await requireSeen(opened, ends, signal);
      const chosen = { task: opened.task, chosenSandbox: opened.container.id, force: true };
      const { container } = await act(opened.docker, chosen, signal);
      return { name: container.name, notices: opened.notices };
    });

  return {
    stop: (place, ends) => end(place, ends, stopChosenSandbox),
    remove: (place, ends) => end(place, ends, removeChosenSandbox),
    replace: (place, ends) =>
      change(place.profile, async (signal) => {
        const opened = await open(place, { mayCreate: true, onDrift: "replace" }, signal);
        const { docker, container, notices } = opened;
        await requireSeen(opened, ends, signal);
        const { request, engine, spec } = docker;
        // A sandbox in use is not replaced, so what the person agreed to end is ended first.
        if (container.state === "running" && ends.length > 0)
          await stopChosenSandbox(
            docker,
            { task: spec.task, chosenSandbox: container.id, force: true },
            signal,
          );
        const ensured = await ensureSandbox(engine, spec, request.reporter, signal);
        return { name: ensured.name, notices };
      }),
    takeSnapshot: (place, name) =>
      change(place.profile, async (signal) => {
        const { docker, notices } = await open(place, {}, signal);
        const options = { name, now: Date.now(), reporter: docker.request.reporter };
        const taken = await snapshotSandbox(docker.engine, docker.spec, options, signal);
        return { name: taken.name || taken.id, notices };
      }),
    fork: (place, newTask) =>
      change(place.profile, async (signal) => {
        const { app, task } = await open(place, {}, signal);
        const { notices, reporter } = collectNotices();
        const docker = await openProfileDocker(app, { mayCreate: true, task: newTask, reporter }, signal);
        const { name } = await forkAppSandbox(docker, { task }, signal);
        return { name, notices };
      }),
    forkSnapshot: (profile, snapshot, task) =>
      change(profile, async (signal) => {
        const { notices, reporter } = collectNotices();
        const docker = await openProfileDocker(
          await load(profile),
          { mayCreate: true, task, reporter },
          signal,
        );
        const { name } = await forkAppSandbox(docker, { snapshot }, signal);
        return { name, notices };
      }),
    restore: (profile, snapshot, { task, ends }) =>
      change(profile, async (signal) => {
        const app = await load(profile);
        const { notices, reporter } = collectNotices();
        const docker = await openProfileDocker(app, { mayCreate: true, task, reporter }, signal);
        const source = await findRestoreSource(docker, snapshot, task, signal);
        const container = await findSandbox(docker.engine, source.spec, signal);
        if (container !== undefined) await requireSeen({ app, docker, container }, ends, signal);
        const restored = await restoreAppSandbox(docker, source, { force: ends.length > 0 }, signal);
        if (restored.previousSnapshotId !== undefined)
          notices.push(`The previous files are saved as the snapshot ${restored.previousSnapshotId}.`);
        return { name: restored.name, notices };
      }),
    startJob: (place, { command, terminal }) =>
      change(place.profile, async (signal) => {
        const { app, task } = await open(place, {}, signal);
        const { notices, reporter } = collectNotices();
        await using opened = await openSandboxJobs(app, requestOf(app, task, reporter), signal);
        if (!opened.lasts)
          throw new AppError(
            "job-unstarted",
            "The job was not started: the sandbox of a process ends with it, because terminal.docker_persist_across_processes is false.",
          );
        const session = opened.environment.openSession();
        const started = await opened.jobs.start(
          command,
          { session, owner: USER, lifetime: "persistent", pty: terminal, takesInput: terminal },
          signal,
        );
        if (started.kind === "failed-start")
          throw new AppError("job-unstarted", `The job was not started: ${started.message}.`);
        return { name: started.job.id, notices: [...notices, ...started.notes] };
      }),
    killJob: (place, id) =>
      change(place.profile, async (signal) => {
        const { app, task } = await open(place, {}, signal);
        await using opened = await openSandboxJobs(app, requestOf(app, task), signal);
        const { kind, job, survivors } = await opened.jobs.kill(id, signal);
        if (kind === "survived")
          throw new AppError(
            "job-survived",
            `${job.id} could not be killed: process ${survivors.map(({ pid }) => pid).join(", ")} survived.`,
          );
        return { name: job.id, notices: [] };
      }),
    reclaim: (profile, { dryRun, agreed }) =>
      change(profile, async (signal): Promise<ReclaimAnswer> => {
        const app = await load(profile);
        const docker = await openProfileDocker(app, { recover: false }, signal);
        const run = (isDry: boolean) =>
          collectGarbage(docker, { dryRun: isDry, allProfiles: false }, app, signal);
        const planned = await run(true);
        if (!dryRun) requirePlanned(planned.rows, agreed);
        const { rows, problem } = dryRun ? planned : await run(false);
        return {
          rows: rows.map(({ id, name, state, action, reason }) => ({ id, name, state, action, reason })),
          problem: problem ?? null,
        };
      }),
  };
}

function requirePlanned(rows: ReclaimAnswer["rows"] | readonly Planned[], agreed: readonly string[]): void {
  const unseen = rows.find(({ id, action }) => action !== "kept" && !agreed.includes(`${id} ${action}`));
  if (unseen === undefined) return;
  throw new ApiError(
    409,
    "sandbox_changed",
    `Nothing was done, because ${unseen.name} would now be ${unseen.action} too.`,
    undefined,
    "Check the list, and confirm again.",
  );
}

type Planned = Pick<ReclaimAnswer["rows"][number], "id" | "name" | "action">;

function collectNotices() {
  const notices: string[] = [];
  const reporter = {
    onNotice: (text: string): void => void notices.push(text),
    onProgress: () => undefined,
  };
  return { notices, reporter };
}

function withDriftRule(app: Awaited<ReturnType<LoadProfile>>, rule: "replace"): typeof app {
  const { config } = app.resolved;
  const terminal = { ...config.terminal, docker_on_drift: rule };
  return { ...app, resolved: { ...app.resolved, config: { ...config, terminal } } };
}
