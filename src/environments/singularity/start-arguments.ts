import { entryFlags } from "./instance.ts";
import type { InstanceSpec } from "./instance-spec.ts";

/** Flags for the limits of a spec, which not every machine and version can keep. */
export function limitFlags({ cpus, memoryMb }: Pick<InstanceSpec, "cpus" | "memoryMb">): readonly string[] {
  return [
    ...(memoryMb > 0 ? ["--memory", `${memoryMb}M`] : []),
    ...(cpus > 0 ? ["--cpus", String(cpus)] : []),
  ];
}

/** The command that starts the instance of a spec. */
export function startArguments(spec: InstanceSpec, image: string, limits: readonly string[]): string[] {
  const { overlayFolder, keptFolders } = spec;
  return [
    "instance",
    "start",
    "--containall",
    "--no-home",
    ...entryFlags(spec),
    ...(overlayFolder === undefined ? ["--writable-tmpfs"] : ["--overlay", overlayFolder]),
    ...(keptFolders === undefined
      ? ["--scratch", "/root", "--scratch", "/workspace"]
      : Object.entries(keptFolders).flatMap(([target, source]) => ["--bind", `${source}:${target}`])),
    ...limits,
    image,
    spec.name,
  ];
}
