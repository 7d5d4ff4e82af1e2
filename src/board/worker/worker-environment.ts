import { parseVolume } from "../../environments/docker/mounts.ts";
import type { TerminalOptions } from "../../environments/options.ts";
import { AppError } from "../../lib/errors.ts";

/** Seconds before the end of a run in which no command shall still be waited for. */
const MARGIN_SECONDS = 30;
/** Where a container sees the workspace. */
const MOUNTED_AT = "/workspace";

/** Where the commands of a run's worker are run. */
export interface WorkerEnvironment {
  readonly options: TerminalOptions;
  /** What the workspace is called there, if not by its own path. */
  readonly seenAs: string | undefined;
}

/**
 * The profile's environment as the worker of one run needs it: commands start in the workspace and may take as long as
 * the run has. A container is the task's own, because no other has its workspace in it; it goes when the worker ends.
 */
export function createWorkerEnvironment(
  options: TerminalOptions,
  run: { readonly maxRuntimeSeconds: number | null },
  workspace: string,
): WorkerEnvironment {
  const longest = run.maxRuntimeSeconds === null ? 0 : run.maxRuntimeSeconds - MARGIN_SECONDS;
  const patient = {
    ...options,
    timeout: Math.max(options.timeout, longest),
    max_foreground_timeout: Math.max(options.max_foreground_timeout, longest),
  };
  switch (options.backend) {
    case "local":
      return { options: { ...patient, cwd: workspace }, seenAs: undefined };
    case "docker":
    case "podman":
      refuseOtherWorkspace(options);
      return {
        options: {
          ...patient,
          cwd: MOUNTED_AT,
          docker_mount_cwd_to_workspace: true,
          isolation: "task",
          docker_persist_across_processes: false,
          container_persistent: false,
        },
        seenAs: MOUNTED_AT,
      };
    default:
      return { options: patient, seenAs: undefined };
  }
}

function refuseOtherWorkspace({ docker_volumes: volumes }: TerminalOptions): void {
  const other = volumes.find((text) => parseVolume(text)?.target === MOUNTED_AT);
  if (other === undefined) return;
  throw new AppError(
    "workspace-refused",
    `terminal.docker_volumes puts ${other} where the workspace of a task goes.`,
    { hint: `Mount it anywhere but at ${MOUNTED_AT}.` },
  );
}
