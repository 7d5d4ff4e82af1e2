import { basename, dirname, join } from "node:path/posix";
import type { UsedFile } from "./command-effects.ts";
import { isPattern } from "./hardline/protected-folders.ts";
import { UNKNOWN } from "./shell-reader/scope.ts";

/** A file under the path that a call names, and under its path without symbolic links. */
export interface ResolvedFile {
  readonly path: string;
  /** Equal to `path` where no link leads elsewhere. */
  readonly real: string;
}

type ResolveLinks = (path: string) => Promise<string>;

/** More files than this are judged by the path that the call names. */
const MAX_RESOLVED = 200;

/**
 * Finds where links lead. Rules and classes know `roots` by the paths in the settings, so a file in a root is named by that
 * path, even if the root itself is behind a link.
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
