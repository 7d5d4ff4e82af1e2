import { join, resolve } from "node:path";
import { digestOf, sandboxKey, uniqueName } from "../docker/sandbox-names.ts";
import { chooseWorkingFolder } from "../docker/working-folder.ts";
import type { TerminalOptions } from "../options.ts";
import { passedVariables } from "../passed-variables.ts";

/** What a spec takes from the machine that asks for the instance. */
export interface InstanceHost {
  readonly scratchFolder: string;
  /** Where images made from addresses are kept. */
  readonly cacheFolder: string;
  readonly userHome: string;
  readonly cwd: string;
  /** Undefined where the system has no numeric users. */
  readonly uid: number | undefined;
  /** The value of a variable to pass on: the environment's, else that of the profile's `.env`. */
  findValue(name: string): string | undefined;
}

export type ImageSource =
  | { readonly kind: "path"; readonly path: string }
  | { readonly kind: "address"; readonly address: string };

/** Everything that an instance is started with. */
export interface InstanceSpec {
  /** The same for every process that asks for this pair, or this process's alone. */
  readonly name: string;
  readonly isShared: boolean;
  readonly image: ImageSource;
  readonly workingFolder: string;
  /** Where changes to the image are kept; undefined keeps them in memory. */
  readonly overlayFolder: string | undefined;
  /** Host folder for each kept folder of the instance; undefined keeps them in memory. */
  readonly keptFolders: Readonly<Record<"/root" | "/workspace", string>> | undefined;
  readonly cpus: number;
  readonly memoryMb: number;
  readonly diskWarningGb: number;
  readonly asRoot: boolean;
  readonly scratchFolder: string;
  readonly cacheFolder: string;
  /** Handed to each command by the channel; no part of the instance ever holds them. */
  readonly forwardedVariables: Readonly<Record<string, string>>;
}

/** The spec that the settings ask for, and what a person should know about those that could not be followed. */
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
    forwardedVariables: passedVariables(options.env_passthrough, host.findValue),
  };
  return { spec, notices };
}

/** What the names of a profile's instances begin with: all that a list of instances tells of their owner. */
export function instancePrefix(profileId: string): string {
  return `hermes-${digestOf(profileId).slice(0, 8)}-`;
}

function imageSource(setting: string, { userHome, cwd }: InstanceHost): ImageSource {
  if (/^[a-z][a-z0-9+.-]*:\/\/[^\s-]/.test(setting)) return { kind: "address", address: setting };
  const path = setting.replace(/^~(?=\/|$)/, () => userHome);
  return { kind: "path", path: resolve(cwd, path) }; // absolute, so that it can be no option
}
