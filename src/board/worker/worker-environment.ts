import { readdir } from "node:fs/promises";
import { join, posix, relative } from "node:path";
import { parseVolume } from "../../environments/docker/mounts.ts";
import type { LentFiles } from "../../environments/environment-request.ts";
import type { TerminalOptions } from "../../environments/options.ts";
import type { Offer } from "../../environments/sync/offered-file.ts";
import { AppError } from "../../lib/errors.ts";
import type { AttachmentPlace } from "../attachments/attachment-files.ts";

/** Seconds before the end of a run in which no command shall still be waited for. */
const MARGIN_SECONDS = 30;
/** Where a container sees the workspace, and the files of tasks. */
const MOUNTED_AT = "/workspace";
const FILES_AT = "/attachments";
/** Where a place that mounts nothing gets copies of them, below the home of its user. */
const COPIES_AT = ".hermes";
const COPIES_FOLDER = "attachments";

/** Where the commands of a run's worker are run. */
export interface WorkerEnvironment {
  readonly options: TerminalOptions;
  /** What the workspace is called there, if not by its own path. */
  readonly seenAs: string | undefined;
  /** The folder of a task's files there; undefined for a task whose files are not there. */
  readonly filesOf: AttachmentPlace["seenAs"];
  readonly lent: LentFiles | undefined;
}

/** The files that a worker may read: its task's own and those of the tasks before it. */
export interface ReadableFiles {
  /** Where each task has its folder. */
  readonly folder: string;
  readonly taskIds: readonly string[];
}

/**
 * The profile's environment as the worker of one run needs it: commands start in the workspace and may take as long as
 * the run has. A container is the task's own, because no other has its workspace in it; it goes when the worker ends.
 */
export function createWorkerEnvironment(
  options: TerminalOptions,
  run: { readonly maxRuntimeSeconds: number | null },
  workspace: string,
  files: ReadableFiles,
): WorkerEnvironment {
  const longest = run.maxRuntimeSeconds === null ? 0 : run.maxRuntimeSeconds - MARGIN_SECONDS;
  const patient = {
    ...options,
    timeout: Math.max(options.timeout, longest),
    max_foreground_timeout: Math.max(options.max_foreground_timeout, longest),
  };
  switch (options.backend) {
    case "local":
      return {
        options: { ...patient, cwd: workspace },
        seenAs: undefined,
        filesOf: undefined,
        lent: undefined,
      };
    case "docker":
    case "podman": {
      refuseOtherWorkspace(options);
      // A volume is written with colons between its parts, so a path that has one cannot be mounted.
      const taskIds = files.folder.includes(":") ? [] : files.taskIds;
      const volumes = taskIds.map((id) => `${join(files.folder, id)}:${FILES_AT}/${id}:ro`);
      return {
        options: {
          ...patient,
          cwd: MOUNTED_AT,
          docker_mount_cwd_to_workspace: true,
          isolation: "task",
          docker_persist_across_processes: false,
          container_persistent: false,
          docker_volumes: [...options.docker_volumes, ...volumes],
        },
        seenAs: MOUNTED_AT,
        filesOf: (id) => (taskIds.includes(id) ? `${FILES_AT}/${id}` : undefined),
        lent: undefined,
      };
    }
    default:
      return {
        options: patient,
        seenAs: undefined,
        filesOf: (id) => (files.taskIds.includes(id) ? `~/${COPIES_AT}/${COPIES_FOLDER}/${id}` : undefined),
        lent: { owner: `attachments-${files.taskIds[0]}`, list: () => offerFiles(files) },
      };
  }
}

/** What lies in the folders of the tasks now, as far as it is whole. */
async function offerFiles({ folder, taskIds }: ReadableFiles): Promise<Offer> {
  const found = await Promise.all(
    taskIds.map(async (id) => {
      const entries = await readdir(join(folder, id), { recursive: true, withFileTypes: true });
      return entries
        .filter((entry) => entry.isFile() && !entry.name.startsWith("."))
        .map((entry) => join(entry.parentPath, entry.name));
    }),
  );
  const files = found.flat().map((hostPath) => ({
    hostPath,
    targetPath: posix.join(COPIES_FOLDER, relative(folder, hostPath)),
    mode: 0o600,
  }));
  return { files, problems: [] };
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
