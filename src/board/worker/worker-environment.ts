import { readdir } from "node:fs/promises";
import { join, posix, relative } from "node:path";
import { parseVolume } from "../../environments/docker/spec/mounts.ts";
import type { TemporaryFiles } from "../../environments/environment-request.ts";
import type { TerminalOptions } from "../../environments/options.ts";
import type { OfferedFiles } from "../../environments/sync/offered-file.ts";
import { AppError } from "../../lib/errors.ts";
import type { AttachmentFolders } from "../attachments/attachment-files.ts";

/** A command times out this many seconds before the end of its run. */
const MARGIN_SECONDS = 30;
/** The paths of the workspace and of the attachments inside a container. */
const MOUNTED_AT = "/workspace";
const FILES_AT = "/attachments";
/** Where an environment without mounts gets copies of the attachments, below the home of its user. */
const COPIES_AT = ".hermes";
const COPIES_FOLDER = "attachments";

/** The environment in which the commands of a run's worker run. */
export interface WorkerEnvironment {
  readonly options: TerminalOptions;
  /** The path of the workspace inside the environment, if it differs from the host's. */
  readonly workspacePath: string | undefined;
  /** The folder of a task's attachments inside the environment; undefined for a task whose attachments are not available. */
  readonly attachmentFolderOf: AttachmentFolders["folderForWorker"];
  readonly temporaryFiles: TemporaryFiles | undefined;
}

/** The attachments that a worker may read: those of its task and of the parent tasks. */
export interface ReadableFiles {
  /** The parent of the attachment folders of all tasks. */
  readonly folder: string;
  readonly taskIds: readonly string[];
}

/**
 * Adapts the profile's environment to the worker of one run: commands start in the workspace and may take as long as the
 * run. A container belongs to one task, because it mounts that task's workspace; it is removed when the worker exits.
 */
export function createWorkerEnvironment(
  options: TerminalOptions,
  run: { readonly maxRuntimeSeconds: number | null },
  workspace: string,
  files: ReadableFiles,
): WorkerEnvironment {
  const longest = run.maxRuntimeSeconds === null ? 0 : run.maxRuntimeSeconds - MARGIN_SECONDS;
  const withTimeouts = {
    ...options,
    timeout: Math.max(options.timeout, longest),
    max_foreground_timeout: Math.max(options.max_foreground_timeout, longest),
  };
  switch (options.backend) {
    case "local":
      return {
        options: { ...withTimeouts, cwd: workspace },
        workspacePath: undefined,
        attachmentFolderOf: undefined,
        temporaryFiles: undefined,
      };
    case "docker":
    case "podman": {
      refuseOtherWorkspace(options);
      // The parts of a volume are separated by colons, so a path that contains a colon cannot be mounted.
      const taskIds = files.folder.includes(":") ? [] : files.taskIds;
      const volumes = taskIds.map((id) => `${join(files.folder, id)}:${FILES_AT}/${id}:ro`);
      return {
        options: {
          ...withTimeouts,
          cwd: MOUNTED_AT,
          docker_mount_cwd_to_workspace: true,
          isolation: "task",
          docker_persist_across_processes: false,
          container_persistent: false,
          docker_volumes: [...options.docker_volumes, ...volumes],
        },
        workspacePath: MOUNTED_AT,
        attachmentFolderOf: (id) => (taskIds.includes(id) ? `${FILES_AT}/${id}` : undefined),
        temporaryFiles: undefined,
      };
    }
    default:
      return {
        options: withTimeouts,
        workspacePath: undefined,
        attachmentFolderOf: (id) =>
          files.taskIds.includes(id) ? `~/${COPIES_AT}/${COPIES_FOLDER}/${id}` : undefined,
        temporaryFiles: { owner: `attachments-${files.taskIds[0]}`, list: () => offerFiles(files) },
      };
  }
}

/** The files in the folders of the tasks, without those that are still being written. */
async function offerFiles({ folder, taskIds }: ReadableFiles): Promise<OfferedFiles> {
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
    `terminal.docker_volumes mounts ${other}, but the workspace of a task is mounted at ${MOUNTED_AT}.`,
    { hint: `Mount that volume at a path other than ${MOUNTED_AT}.` },
  );
}
