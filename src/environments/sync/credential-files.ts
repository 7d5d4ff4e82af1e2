import { realpath, stat } from "node:fs/promises";
import { isAbsolute, join, normalize, sep } from "node:path";
import { errnoOf } from "../../lib/errors.ts";
import type { OfferedFile, OfferedFiles } from "./offered-file.ts";

/** Resolves the files of `terminal.credential_files`. Each must be inside the profile's home; copies get mode 600. */
export async function findCredentialFiles(
  profileHome: string,
  names: readonly string[],
): Promise<OfferedFiles> {
  const files = new Map<string, OfferedFile>();
  const problems: string[] = [];
  for (const name of new Set(names)) {
    const targetPath = normalize(name).split(sep).join("/");
    const found = await resolveInside(profileHome, name, targetPath);
    if ("problem" in found) {
      problems.push(`terminal.credential_files: ${JSON.stringify(name)} is not copied: ${found.problem}.`);
    } else {
      files.set(targetPath, { hostPath: found.path, targetPath, mode: 0o600 });
    }
  }
  return { files: [...files.values()], problems };
}

async function resolveInside(home: string, name: string, targetPath: string) {
  if (isAbsolute(name) || name.startsWith("~"))
    return { problem: "it must be relative to the profile's home" };
  if (targetPath.split("/")[0] === "..") return { problem: "it is outside of the profile's home" };
  try {
    const [root, path] = await Promise.all([realpath(home), realpath(join(home, name))]);
    if (!path.startsWith(root + sep)) return { problem: "a link leads out of the profile's home" };
    return (await stat(path)).isFile() ? { path } : { problem: "it is not a regular file" };
  } catch (error) {
    const errno = errnoOf(error);
    if (errno === undefined) throw error;
    return { problem: errno === "ENOENT" ? "it does not exist" : `it cannot be read (${errno})` };
  }
}
