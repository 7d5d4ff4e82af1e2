import { dirname } from "node:path";

/** What commands in the sandbox find at a path. All other paths show the machine's files, read-only. */
export type Mount =
  /** An empty folder without permissions. */
  | { readonly kind: "hidden-folder"; readonly path: string }
  /** An empty file without permissions. */
  | { readonly kind: "hidden-file"; readonly path: string }
  /** A file or folder of the machine, by default the one at the path. */
  | { readonly kind: "read" | "write"; readonly path: string; readonly source?: string };

/** Whether a path is a folder or lies below it. */
export function isWithin(path: string, folder: string): boolean {
  return folder === "/" || path === folder || path.startsWith(`${folder}/`);
}

/**
 * Mounts for the folders between a writable folder and the protected paths in it. Without them, a command could rename such a
 * folder and put another one in its place; a mount point cannot be renamed.
 */
export function pinParents(mounts: readonly Mount[]): Mount[] {
  const byPath = new Map(mounts.map((mount) => [mount.path, mount]));
  return [...byPath.values()].flatMap(({ path }) => {
    const mountsBetween: Mount[] = [];
    let folder = dirname(path);
    for (; folder !== "/" && !byPath.has(folder); folder = dirname(folder))
      mountsBetween.push({ kind: "write", path: folder });
    const around = byPath.get(folder);
    // The files of a temporary folder are stored elsewhere, so it has no protected paths.
    return around?.kind === "write" && around.source === undefined ? mountsBetween : [];
  });
}

/**
 * The arguments of bubblewrap for these mounts. Parent folders come first, in whatever order the mounts are given; of two
 * mounts at one path, the last one applies. `blank` is the file that replaces hidden files.
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
    // Last, because bubblewrap creates the mount points of visible folders in them.
    ...hidden.flatMap((path) => ["--remount-ro", path]),
  ];
}

function depthOf(path: string): number {
  return path === "/" ? 0 : path.split("/").length;
}
