import { AppError } from "../lib/errors.ts";
import type { EnvironmentRequest } from "./environment-request.ts";
import type { TerminalOptions } from "./options.ts";

/** How far commands in an environment can reach into the user's machine. */
export interface Containment {
  /** True if commands reach neither writable files of the host nor secrets. */
  readonly isIsolated: boolean;
  /** The reason for `isIsolated`, in one sentence. */
  readonly reason: string;
  /** Whether commands can signal processes of the host. */
  readonly sharesProcesses: boolean;
  /** Classes of commands that fail in the sandbox and therefore need no approval. */
  readonly contains?: ReadonlySet<string>;
}

/** Describes an environment by its settings. Anything that the settings do not prove counts as reachable. */
export function describeContainment(options: TerminalOptions): Containment {
  const { backend } = options;
  if (backend === "local") {
    const reason = "Commands run on this machine.";
    if (options.local_sandbox === "off") return { isIsolated: false, reason, sharesProcesses: true };
    return { isIsolated: false, reason, sharesProcesses: true, contains: classesContainedBy(options) };
  }
  const opening =
    backend === "docker" || backend === "podman"
      ? findOpening(options)
      : `${backend} does not separate commands from the user's files`;
  return opening === undefined
    ? {
        isIsolated: true,
        reason: `Commands stay inside the ${backend} sandbox, which has no writable files or secrets of this machine.`,
        sharesProcesses: false,
      }
    : { isIsolated: false, reason: `The sandbox is not isolated: ${opening}.`, sharesProcesses: false };
}

/**
 * Classes of commands that fail in the local sandbox. Classes that change or remove files of the project are not among them,
 * because that is possible inside.
 */
function classesContainedBy(options: TerminalOptions): ReadonlySet<string> {
  const { local_sandbox, local_sandbox_network, local_sandbox_writable } = options;
  const hasNetwork = local_sandbox === "workspace" && local_sandbox_network;
  return new Set([
    ...["privileged", "system-settings", "service-control", "scheduled-task", "process-kill"],
    ...["container-control", "container-escape"],
    ...(local_sandbox_writable.length > 0 ? [] : ["system-file-write", "startup-file-write"]),
    ...(hasNetwork ? [] : ["data-upload", "remote-shell", "cloud-metadata", "publish", "git-force-push"]),
  ]);
}

/**
 * Returns why an existing sandbox is not isolated although the settings describe an isolated one; undefined if it is
 * isolated. The container may have been created with other settings, for example with a folder of the host.
 */
export async function findOpeningInUse(
  request: EnvironmentRequest,
  signal: AbortSignal,
): Promise<string | undefined> {
  const [{ createDockerRequest }, { findSandbox }, { describeDrift, findDrift }] = await Promise.all([
    import("./docker/engine/prepare-docker.ts"),
    import("./docker/lifecycle/find-sandbox.ts"),
    import("./docker/spec/spec-fields.ts"),
  ]);
  const reporter = { onNotice: () => undefined, onProgress: () => undefined }; // the same notices are printed when the environment is opened
  try {
    const { engine, spec } = await createDockerRequest({ ...request, reporter }, signal);
    if (!spec.persistAcrossProcesses) return undefined;
    const found = await findSandbox(engine, spec, signal);
    const drift = found === undefined ? [] : findDrift(found, spec);
    return drift.length === 0
      ? undefined
      : `The sandbox is not isolated: it was created with other settings: ${describeDrift(drift)}.`;
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    return `The sandbox cannot be inspected: ${error.message}`;
  }
}

function findOpening(options: TerminalOptions): string | undefined {
  const writable = options.docker_volumes.find((volume) => !/:([a-z,]*,)?ro(,[a-z,]*)?$/i.test(volume));
  if (writable !== undefined) return `docker_volumes has the writable mount ${writable}`;
  if (options.docker_mount_cwd_to_workspace) return "docker_mount_cwd_to_workspace is on";
  if (options.docker_forward_env.length > 0) return "docker_forward_env passes variables of this machine";
  if (options.env_passthrough.length > 0) return "env_passthrough passes variables of this machine";
  if (options.docker_allow_engine_socket) return "docker_allow_engine_socket is on";
  if (options.docker_extra_args.length > 0) return "docker_extra_args may weaken it";
  return undefined;
}
