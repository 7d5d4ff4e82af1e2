import { dirname } from "node:path";

/** What commands in the sandbox find at a path. Everything else is what the machine has there, read-only. */
export type Mount =
  /** An empty folder that nobody may open. */
  | { readonly kind: "hidden-folder"; readonly path: string }
  /** An empty file that nobody may open. */
  | { readonly kind: "hidden-file"; readonly path: string }
  /** A file or folder of the machine, by default the one at the path. */
  | { readonly kind: "read" | "write"; readonly path: string; readonly source?: string };

/** Whether a path is a folder or lies below it. */
export function isWithin(path: string, folder: string): boolean {
  return folder === "/" || path === folder || path.startsWith(`${folder}/`);
}

/**
 * Mounts for the folders between a writable folder and what is protected in it. A folder that only contains a mount point could
 * be renamed, and another one be put in its place.
 */
export function pinParents(mounts: readonly Mount[]): Mount[] {
  const byPath = new Map(mounts.map((mount) => [mount.path, mount]));
  return [...byPath.values()].flatMap(({ path }) => {
    const between: Mount[] = [];
    let folder = dirname(path);
    for (; folder !== "/" && !byPath.has(folder); folder = dirname(folder))
      between.push({ kind: "write", path: folder });
    const around = byPath.get(folder);
    // Files of a temporary folder are elsewhere on the machine.
    return around?.kind === "write" && around.source === undefined ? between : [];
  });
}

/**
 * The arguments of bubblewrap for these mounts. A folder comes before what lies below it, whatever their order here; of two
 * mounts at one path, the later counts. `blank` is the file that stands for hidden files.
 */
export function mountArguments(mounts: readonly Mount[], blank: string): string[] {
  const byPath = new Map(mounts.map((mount) => [mount.path, mount]));
  const sorted = [...byPath.values()].toSorted((one, other) => depthOf(one.path) - depthOf(other.path));
  const hidden = sorted.filter(({ kind }) => kind === "hidden-folder").map(({ path }) => path);
  const hasVisible = (folder: string): boolean =>
    sorted.some(({ kind, path }) => /read|write/.test(kind) && path !== folder && isWithin(path, folder));
  return [
    ...sorted.flatMap((mount) => {
      const { kind, path } = mount;
      if (kind === "hidden-folder") return ["--perms", hasVisible(path) ? "0111" : "0000", "--tmpfs", path];
      if (kind === "hidden-file") return ["--ro-bind", blank, path];
      return [kind === "read" ? "--ro-bind" : "--bind", mount.source ?? path, path];
    }),
    // Only now, because bubblewrap creates the mount points of visible folders in them.
    ...hidden.flatMap((path) => ["--remount-ro", path]),
  ];
}

function depthOf(path: string): number {
  return path === "/" ? 0 : path.split("/").length;
}
