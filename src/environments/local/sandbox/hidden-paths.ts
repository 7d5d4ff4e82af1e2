import { lstat, readdir, readFile, realpath } from "node:fs/promises";
import { join } from "node:path";
import { CREDENTIAL_PATHS } from "../../../lib/files/credential-paths.ts";
import { unlessMissing } from "../../../lib/files/unless-missing.ts";
import type { Mount } from "./mounts.ts";

/** Paths below the user's home: files with secrets, and folders with sockets that control other programs. */
const IN_HOME = [
  ...CREDENTIAL_PATHS,
  ".npmrc",
  ".yarnrc.yml",
  ".config/git/credentials",
  ".config/containers/auth.json",
  ".Xauthority",
  ".bash_history",
  ".zsh_history",
  ".python_history",
  ".psql_history",
  ".docker/run",
  ".docker/desktop",
  ".colima",
  ".rd",
  ".lima",
];
const SYSTEM_SECRETS = /^(?:g?shadow-?|sudoers|sudoers\.d)$/;
const HOST_KEY = /^ssh_host_.*_key$/;
/** The flags of a listening socket in /proc/net/unix. */
const LISTENING = "00010000";

/** Credentials of the user and of the system. */
export async function findCredentials(userHome: string): Promise<Mount[]> {
  const etc = await namesIn("/etc", SYSTEM_SECRETS);
  const keys = await namesIn("/etc/ssh", HOST_KEY);
  const paths = [...IN_HOME.map((path) => join(userHome, path)), ...etc, ...keys];
  return (await Promise.all(paths.map(hidePath))).flat();
}

/** Hides sockets on which programs listen, such as those of container engines, except those that are hidden already. */
export async function findSockets(isCovered: (path: string) => boolean): Promise<Mount[]> {
  const table = await unlessMissing(readFile("/proc/net/unix", "utf8"));
  const paths = (table ?? "").split("\n").flatMap((line) => {
    const [, , , flags, , , , ...words] = line.split(/\s+/);
    const path = words.join(" ");
    return flags === LISTENING && path.startsWith("/") ? [path] : [];
  });
  const open = [...new Set(paths)].filter((path) => !isCovered(path));
  return (await Promise.all(open.map(hidePath))).flat();
}

/** The mount that hides a path; none for a missing path. Of a link, the target is hidden. */
export async function hidePath(path: string): Promise<Mount[]> {
  // A path that we may not inspect is not accessible in the sandbox either.
  const real = await realpath(path).catch(() => undefined);
  const found = real === undefined ? undefined : await unlessMissing(lstat(real));
  if (real === undefined || found === undefined) return [];
  return [{ kind: found.isDirectory() ? "hidden-folder" : "hidden-file", path: real }];
}

async function namesIn(folder: string, pattern: RegExp): Promise<string[]> {
  const names = await readdir(folder).catch(() => []);
  return names.filter((name) => pattern.test(name)).map((name) => join(folder, name));
}
