import { posix } from "node:path";
import type { TargetPath } from "../environment.ts";
import type { BindMount, Mount } from "./mounts.ts";

/**
 * What a file of the host is called inside the sandbox, by the mounts that the sandbox really has: the one table for
 * whoever hands a path in. Undefined means that the sandbox cannot see it, and that it has to be copied in.
 */
export function findTargetPath(mounts: readonly Mount[], hostPath: string): TargetPath | undefined {
  const path = posix.normalize(hostPath);
  const mount = deepest(binds(mounts), path, ({ localSource }) => localSource);
  if (mount === undefined) return undefined;
  const target = posix.join(mount.target, path.slice(mount.localSource.length));
  // Another mount may lie over that place, and then something else is seen there.
  return deepest(mounts, target, (other) => other.target) === mount ? target : undefined;
}

/** What a path of the sandbox is called on the host; undefined for what only the sandbox has. */
export function findHostPath(mounts: readonly Mount[], targetPath: TargetPath): string | undefined {
  const path = posix.normalize(targetPath);
  const mount = deepest(mounts, path, ({ target }) => target);
  return mount?.kind === "bind" ? posix.join(mount.localSource, path.slice(mount.target.length)) : undefined;
}

function binds(mounts: readonly Mount[]): BindMount[] {
  return mounts.filter((mount): mount is BindMount => mount.kind === "bind");
}

/** The mount whose folder holds the path, the most specific one first. */
function deepest<M extends Mount>(
  mounts: readonly M[],
  path: string,
  folderOf: (mount: M) => string,
): M | undefined {
  return mounts
    .filter((mount) => path === folderOf(mount) || path.startsWith(`${folderOf(mount)}/`))
    .toSorted((a, b) => folderOf(b).length - folderOf(a).length)[0];
}
