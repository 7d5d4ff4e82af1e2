import { join } from "node:path";
import type { EnvironmentRequest } from "../environment-request.ts";
import type { Engine } from "./engine.ts";
import { findEngine } from "./find-engine.ts";
import { findOwnMounts } from "./own-mounts.ts";
import { requireKind } from "./require-kind.ts";
import { createSandboxSpec, type SandboxSpec } from "./sandbox-spec.ts";

export interface PreparedDocker {
  readonly engine: Engine;
  readonly spec: SandboxSpec;
  readonly sandboxesFolder: string;
}

/** The engine and the spec that a request means; nothing is started, and a reachable engine is not asked anything. */
export async function prepareDocker(
  request: EnvironmentRequest,
  signal: AbortSignal,
): Promise<PreparedDocker> {
  const { options, profile, reporter, variables } = request;
  const engine = await findEngine({
    backend: options.backend === "podman" ? "podman" : "docker",
    binary: options.docker_binary,
    variables,
  });
  // What was found by its own name needs no question, which would cost each command its time.
  if (options.docker_binary !== "") await requireKind(engine, options.backend, reporter, signal);
  const sandboxesFolder = sandboxesFolderOf(options, profile.home);
  const uid = process.getuid?.();
  const gid = process.getgid?.();
  const { spec, notices } = await createSandboxSpec(
    options,
    { profile: profile.name, profileId: await request.profileId(), task: request.task },
    {
      sandboxesFolder,
      stateFolders: [profile.root, profile.home],
      userHome: request.userHome,
      cwd: request.cwd,
      remoteEngine: isRemote(variables["DOCKER_HOST"]),
      ownMounts: await findOwnMounts(engine, signal),
      user: uid === undefined || gid === undefined ? undefined : { uid, gid },
      findValue: (name) => request.variable(name),
    },
  );
  for (const notice of notices) reporter.onNotice(notice);
  return { engine, spec, sandboxesFolder };
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
