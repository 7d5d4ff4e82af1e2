import { chooseWorkingFolder } from "./docker/working-folder.ts";
import type { ShellSession } from "./environment.ts";
import type { EnvironmentOverrides } from "./environment-overrides.ts";
import type { EnvironmentRequest } from "./environment-request.ts";
import type { Backend } from "./options.ts";

const CONTAINERS: readonly Backend[] = ["docker", "podman", "singularity"];

/** Where one command is to run. */
export interface FolderChoice {
  /** Undefined leaves it to the session, and to the place where the session has not been anywhere yet. */
  readonly workdir: string | undefined;
  /** To be called when the command has run there, so that the session stays where it then goes. */
  onDone(): void;
}

export type ChooseFolder = (session: ShellSession) => FolderChoice;

/** Brings sessions to the folders of their tasks, although the place they share has only one to start in. */
export interface SessionFolders {
  /** For the sessions of the task that asked, in a place that was opened for `place`. */
  chooser(request: EnvironmentRequest, place: EnvironmentRequest): ChooseFolder;
}

export function createSessionFolders(overrides: EnvironmentOverrides): SessionFolders {
  /** The task's own folder that a session was last brought to: it may leave it, and is not brought back. */
  const broughtTo = new WeakMap<ShellSession, string>();
  return {
    chooser: (request, place) => (session) => {
      const own = overrides.of({ home: request.profile.home, task: request.task }).cwd;
      if (own !== undefined) {
        const onDone = (): void => void broughtTo.set(session, own);
        if (broughtTo.get(session) === own) return { workdir: undefined, onDone };
        const workdir = folderIn(request, own);
        if (workdir === undefined) {
          request.reporter.onNotice(
            `The folder ${own} of task ${request.task} is no path of the container; it is left out.`,
          );
          onDone();
        }
        return { workdir, onDone };
      }
      const isNew = session.cwd === undefined;
      const start = startFolder(request);
      const workdir = isNew && start !== startFolder(place) ? start : undefined;
      return { workdir, onDone: () => undefined };
    },
  };
}

function startFolder(request: EnvironmentRequest): string | undefined {
  const { options, cwd } = request;
  return folderIn(request, options.cwd === "" && options.backend === "local" ? cwd : options.cwd);
}

/** The same rule as for the setting: a path that only the host has is none in a container. */
function folderIn({ options }: EnvironmentRequest, folder: string): string | undefined {
  const found = CONTAINERS.includes(options.backend) ? chooseWorkingFolder(folder, "", []) : folder;
  return found === "" ? undefined : found;
}
