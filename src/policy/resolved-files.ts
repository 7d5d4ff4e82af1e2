import { basename, dirname, join } from "node:path/posix";
import type { UsedFile } from "./command-effects.ts";
import { isPattern } from "./hardline/protected-folders.ts";
import { UNKNOWN } from "./shell-reader/scope.ts";

/** A file with its path as given and its path without symbolic links. */
export interface ResolvedFile {
  readonly path: string;
  /** Equal to `path` if the path contains no symbolic link. */
  readonly real: string;
}

type ResolveLinks = (path: string) => Promise<string>;

/** The number of files whose links are resolved; further files keep the path as given. */
const MAX_RESOLVED = 200;

/**
 * Resolves symbolic links. Rules and classes use the paths of `roots` as they are in the settings, so the path of a file in a
 * root begins with that path even if links lead to the root.
 */
export async function resolveFiles(
  files: readonly UsedFile[],
  roots: readonly (string | undefined)[],
  resolveLinks: ResolveLinks | undefined,
): Promise<readonly ResolvedFile[]> {
  if (resolveLinks === undefined || files.length === 0)
    return files.map(({ path }) => ({ path, real: path }));
  const known = await Promise.all(
    [...new Set(roots)]
      .filter((root) => root !== undefined && root !== "/")
      .map(async (root = "") => ({ root, real: await resolveLinks(root) })),
  );
  const respell = (path: string): string => {
    const within = known
      .filter(({ real }) => path === real || path.startsWith(`${real}/`))
      .toSorted((one, other) => other.real.length - one.real.length)[0];
    return within === undefined ? path : within.root + path.slice(within.real.length);
  };
  return Promise.all(
    files.map(async ({ path, followsLink }, at) => {
      if (at >= MAX_RESOLVED || path.includes(UNKNOWN) || path === "/") return { path, real: path };
      const base = basename(path);
      const real =
        followsLink && !isPattern(path)
          ? await resolveLinks(path)
          : join(await resolveLinks(dirname(path)), base);
      return { path, real: respell(real) };
    }),
  );
}
