import { realpath } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import { type AppError, errnoOf } from "../../../lib/errors.ts";
import type { EnvironmentRequest } from "../../environment-request.ts";
import { findSandbox } from "../lifecycle/find-sandbox.ts";
import { findOwnMounts } from "../spec/own-mounts.ts";
import { createSandboxSpec, type SandboxSpec } from "../spec/sandbox-spec.ts";
import { ensureStableFolder } from "../spec/stable-folder.ts";
import type { Engine } from "./engine.ts";
import { findEngine } from "./find-engine.ts";
import { requireMatchingEngine } from "./require-matching-engine.ts";
import { engineSockets } from "./socket-paths.ts";

export interface PreparedDocker {
  readonly engine: Engine;
  readonly spec: SandboxSpec;
  readonly sandboxesFolder: string;
}

/** Finds the engine and the sandboxes folder of a request, without calling the engine. */
export async function findDocker({
  options,
  profile,
  variables,
}: EnvironmentRequest): Promise<Pick<PreparedDocker, "engine" | "sandboxesFolder">> {
  const engine = await findEngine({
    backend: options.backend === "podman" ? "podman" : "docker",
    binary: options.docker_binary,
    variables,
  });
  const folder = sandboxesFolderOf(options, profile.home);
  return { engine, sandboxesFolder: await resolveLinks(resolve(folder)) };
}

/** Resolves links, so that a home reached through different links gives the same mounts and no drift. */
async function resolveLinks(path: string): Promise<string> {
  try {
    return await realpath(path);
  } catch (error) {
    // A missing folder will be created below the real path of its parent.
    return errnoOf(error) === "ENOENT" ? join(await resolveLinks(dirname(path)), basename(path)) : path;
  }
}

/**
 * Creates the engine and the spec of a request; throws when the settings do not allow a sandbox. Starts nothing, and
 * normally does not call the engine.
 */
export async function prepareDocker(
  request: EnvironmentRequest,
  signal: AbortSignal,
): Promise<PreparedDocker> {
  const { refusals, ...prepared } = await createDockerRequest(request, signal);
  if (refusals[0] !== undefined) throw refusals[0];
  return prepared;
}

/** Like `prepareDocker`, but settings that do not allow a new sandbox do not prevent the use of an existing one. */
export async function prepareExistingSandbox(
  request: EnvironmentRequest,
  signal: AbortSignal,
): Promise<PreparedDocker> {
  const prepared = await createDockerRequest(request, signal);
  const { engine, spec } = prepared;
  if (spec.refusal === undefined) return prepared;
  const found = spec.persistAcrossProcesses ? await findSandbox(engine, spec, signal) : undefined;
  if (found === undefined) throw spec.refusal;
  return prepared;
}

/** Like `prepareDocker`, but returns the refusals instead of throwing, for commands that only inspect or clean up. */
export async function createDockerRequest(
  request: EnvironmentRequest,
  signal: AbortSignal,
): Promise<PreparedDocker & { readonly refusals: readonly AppError[] }> {
  const { options, profile, reporter, variables } = request;
  const { engine, sandboxesFolder } = await findDocker(request);
  // A client that was found by its usual name is not checked, because the check would slow down each command.
  if (options.docker_binary !== "") await requireMatchingEngine(engine, options.backend, reporter, signal);
  const uid = process.getuid?.();
  const gid = process.getgid?.();
  const profileId = await request.profileId();
  const { spec, notices, refusals } = await createSandboxSpec(
    options,
    { profile: profile.name, profileId, task: request.task },
    {
      sandboxesFolder,
      stableFolder: await ensureStableFolder(profile, profileId, sandboxesFolder),
      stateFolders: [profile.root, profile.home],
      userHome: request.userHome,
      engineSockets: options.docker_allow_engine_socket ? undefined : engineSockets(variables),
      cwd: request.cwd,
      remoteEngine: isRemote(variables["DOCKER_HOST"]),
      ownMounts: await findOwnMounts(engine, signal),
      user: uid === undefined || gid === undefined ? undefined : { uid, gid },
      findValue: (name) => request.variable(name),
    },
  );
  for (const notice of notices) reporter.onNotice(notice);
  const [refusal] = refusals;
  return { engine, spec: refusal === undefined ? spec : { ...spec, refusal }, sandboxesFolder, refusals };
}

/** The folder for the files and records of a profile's sandboxes. */
export function sandboxesFolderOf(
  { sandbox_dir }: Pick<EnvironmentRequest["options"], "sandbox_dir">,
  home: string,
): string {
  return sandbox_dir === "" ? join(home, "sandboxes") : sandbox_dir;
}

function isRemote(host: string | undefined): boolean {
  return (
    host !== undefined && /^(ssh|tcp|https?):/.test(host) && !/^\w+:\/\/(localhost|127\.|\[::1\])/.test(host)
  );
}
