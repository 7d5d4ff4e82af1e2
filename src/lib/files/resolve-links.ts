import { readlink, realpath } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import { errnoOf } from "../errors.ts";

const MAX_STEPS = 256;

/**
 * The absolute path without symbolic links. The last names of the path need not exist, and the target of a link need not
 * either. A part that cannot be read is kept as it is.
 */
export async function resolveLinks(path: string, depth = 0): Promise<string> {
  try {
    return await realpath(path);
  } catch (error) {
    const parent = dirname(path);
    if (errnoOf(error) !== "ENOENT" || parent === path || depth > MAX_STEPS) return path;
    const folder = await resolveLinks(parent, depth + 1);
    const target = await readlink(path).catch(() => undefined); // most paths are not links
    return target === undefined
      ? join(folder, basename(path))
      : resolveLinks(resolve(folder, target), depth + 1);
  }
}
