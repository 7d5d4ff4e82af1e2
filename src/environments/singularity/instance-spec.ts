import { join, resolve } from "node:path";
import { digestOf, sandboxKey, uniqueName } from "../docker/spec/sandbox-names.ts";
import { chooseWorkingFolder } from "../docker/spec/working-folder.ts";
import type { TerminalOptions } from "../options.ts";
import { selectPassedVariables } from "../passed-variables.ts";

/** Facts about the machine on which the instance runs. */
export interface InstanceHost {
  readonly scratchFolder: string;
  /** The folder of images built from addresses. */
  readonly cacheFolder: string;
  readonly userHome: string;
  readonly cwd: string;
  /** Undefined on systems without numeric user ids. */
  readonly uid: number | undefined;
  /** The value of a forwarded variable, from the environment or else from the profile's `.env`. */
  findValue(name: string): string | undefined;
}

export type ImageSource =
  | { readonly kind: "path"; readonly path: string }
  | { readonly kind: "address"; readonly address: string };

/** Everything that an instance is started with. */
export interface InstanceSpec {
  /** The same name for all processes of a profile and task, or unique to this process if not shared. */
  readonly name: string;
  readonly isShared: boolean;
  readonly image: ImageSource;
  readonly workingFolder: string;
  /** The folder for changes to the image; undefined keeps changes in memory. */
  readonly overlayFolder: string | undefined;
  /** Host folder for each kept folder of the instance; undefined keeps them in memory. */
  readonly keptFolders: Readonly<Record<"/root" | "/workspace", string>> | undefined;
  readonly cpus: number;
  readonly memoryMb: number;
  readonly diskWarningGb: number;
  readonly asRoot: boolean;
  readonly scratchFolder: string;
  readonly cacheFolder: string;
  /** Passed to each command over the channel; never stored in the instance. */
  readonly forwardedVariables: Readonly<Record<string, string>>;
}

/** Creates the spec for the settings, with notices about settings that cannot be honoured. */
export function createInstanceSpec(
  options: TerminalOptions,
  { profileId, task }: { readonly profileId: string; readonly task: string },
  host: InstanceHost,
): { readonly spec: InstanceSpec; readonly notices: readonly string[] } {
  const notices: string[] = [];
  const key = sandboxKey(profileId, task);
  const name = `${instancePrefix(profileId)}${key}`;
  const { scratchFolder, cacheFolder } = host;
  const isShared = options.docker_persist_across_processes;
  const keeps = options.container_persistent;
  const files = join(scratchFolder, "hermes-files", key);
  const spec: InstanceSpec = {
    name: isShared ? name : uniqueName(name),
    isShared,
    image: imageSource(options.singularity_image, host),
    workingFolder: chooseWorkingFolder(options.cwd, "/root", notices),
    // Two instances must never write to one overlay.
    overlayFolder: keeps && isShared ? join(scratchFolder, "hermes-overlays", `overlay-${key}`) : undefined,
    keptFolders: keeps ? { "/root": join(files, "home"), "/workspace": join(files, "workspace") } : undefined,
    cpus: options.container_cpu,
    memoryMb: options.container_memory,
    diskWarningGb: options.disk_warning_gb,
    asRoot: host.uid === 0,
    scratchFolder,
    cacheFolder,
    forwardedVariables: selectPassedVariables(options.env_passthrough, host.findValue),
  };
  return { spec, notices };
}

/** The name prefix of a profile's instances; the only sign of their owner in a list of instances. */
export function instancePrefix(profileId: string): string {
  return `hermes-${digestOf(profileId).slice(0, 8)}-`;
}

function imageSource(setting: string, { userHome, cwd }: InstanceHost): ImageSource {
  if (/^[a-z][a-z0-9+.-]*:\/\/[^\s-]/.test(setting)) return { kind: "address", address: setting };
  const path = setting.replace(/^~(?=\/|$)/, () => userHome);
  return { kind: "path", path: resolve(cwd, path) }; // absolute, so that it is never parsed as an option
}
