import { prepareDocker } from "../../environments/docker/engine/prepare-docker.ts";
import { type ForkedSandbox, forkSandbox } from "../../environments/docker/restore/fork-sandbox.ts";
import { type RestoredSandbox, restoreSandbox } from "../../environments/docker/restore/restore-sandbox.ts";
import {
  requireSnapshot,
  type SnapshotManifest,
} from "../../environments/docker/snapshots/snapshot-store.ts";
import type { SandboxSpec } from "../../environments/docker/spec/sandbox-spec.ts";
import { createJobCommandFinder } from "../../environments/jobs/job-command.ts";
import { type OpenedDocker, quietReporter } from "./sandbox.ts";

/** The spec of another task. Quiet, because notices are reported once, for the sandbox of the request. */
async function specOf({ request }: OpenedDocker, task: string, signal: AbortSignal): Promise<SandboxSpec> {
  return (await prepareDocker({ ...request, task, reporter: quietReporter }, signal)).spec;
}

/** Creates the sandbox of the requested task from the sandbox of another task or from a snapshot. */
export async function forkAppSandbox(
  docker: OpenedDocker,
  from: { readonly task: string } | { readonly snapshot: string },
  signal: AbortSignal,
): Promise<ForkedSandbox> {
  const { engine, spec, request } = docker;
  const source =
    "task" in from
      ? { sandbox: await specOf(docker, from.task, signal) }
      : { snapshot: await requireSnapshot(spec, from.snapshot) };
  return await forkSandbox(engine, source, spec, { now: Date.now(), reporter: request.reporter }, signal);
}

/** A snapshot and the sandbox that will be replaced by its files. */
export interface RestoreSource {
  readonly snapshot: SnapshotManifest;
  readonly spec: SandboxSpec;
}

/** Finds a snapshot by its name or id. Without a task, it replaces the sandbox that it was taken of. */
export async function findRestoreSource(
  docker: OpenedDocker,
  name: string,
  task: string | undefined,
  signal: AbortSignal,
): Promise<RestoreSource> {
  const snapshot = await requireSnapshot(docker.spec, name);
  const spec = task === undefined ? await specOf(docker, snapshot.task, signal) : docker.spec;
  return { snapshot, spec };
}

/** Replaces the files of a sandbox with those of a snapshot. The previous files are saved as a snapshot first. */
export async function restoreAppSandbox(
  { engine, request }: OpenedDocker,
  { snapshot, spec }: RestoreSource,
  { force }: { readonly force: boolean },
  signal: AbortSignal,
): Promise<RestoredSandbox> {
  const lookUpJobs = createJobCommandFinder(request.profile.home);
  const options = { now: Date.now(), reporter: request.reporter, force, lookUpJobs };
  return await restoreSandbox(engine, snapshot, spec, options, signal);
}
