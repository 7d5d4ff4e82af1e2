import { realpath } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import { type AppError, errnoOf } from "../../lib/errors.ts";
import type { EnvironmentRequest } from "../environment-request.ts";
import type { Engine } from "./engine.ts";
import { engineSockets } from "./engine-sockets.ts";
import { findEngine } from "./find-engine.ts";
import { findOwnMounts } from "./own-mounts.ts";
import { requireKind } from "./require-kind.ts";
import { createSandboxSpec, type SandboxSpec } from "./sandbox-spec.ts";
import { stableFolder } from "./stable-folder.ts";

export interface PreparedDocker {
  readonly engine: Engine;
  readonly spec: SandboxSpec;
  readonly sandboxesFolder: string;
}

/** The engine and the folder of a request's sandboxes; the engine is not asked anything. */
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

/** The same folder must have the same name through whatever link the home is reached, or its mounts count as changed. */
async function resolveLinks(path: string): Promise<string> {
  try {
    return await realpath(path);
  } catch (error) {
    // What is missing will be made below the real path of its parent.
    return errnoOf(error) === "ENOENT" ? join(await resolveLinks(dirname(path)), basename(path)) : path;
  }
}

/**
 * The engine and the spec that a request means; throws when no sandbox may be made with the settings. Nothing is
 * started, and a reachable engine is not asked anything.
 */
export async function prepareDocker(
  request: EnvironmentRequest,
  signal: AbortSignal,
): Promise<PreparedDocker> {
  const { refusals, ...prepared } = await describeDocker(request, signal);
  if (refusals[0] !== undefined) throw refusals[0];
  return prepared;
}

/** The same for those who only look after what exists, whether or not the settings allow to make another one. */
export async function describeDocker(
  request: EnvironmentRequest,
  signal: AbortSignal,
): Promise<PreparedDocker & { readonly refusals: readonly AppError[] }> {
  const { options, profile, reporter, variables } = request;
  const { engine, sandboxesFolder } = await findDocker(request);
  // What was found by its own name needs no question, which would cost each command its time.
  if (options.docker_binary !== "") await requireKind(engine, options.backend, reporter, signal);
  const uid = process.getuid?.();
  const gid = process.getgid?.();
  const profileId = await request.profileId();
  const { spec, notices, refusals } = await createSandboxSpec(
    options,
    { profile: profile.name, profileId, task: request.task },
    {
      sandboxesFolder,
      stableFolder: await stableFolder(profile, profileId, sandboxesFolder),
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
  return { engine, spec, sandboxesFolder, refusals };
}

/** Where the sandboxes of a profile keep their files and records. */
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
