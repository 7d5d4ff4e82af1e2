import { realpath, stat } from "node:fs/promises";
import { homedir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { unlessMissing } from "../../../lib/files/unless-missing.ts";
import type { TerminalOptions } from "../../options.ts";
import { findCredentials, findSockets, hidePath } from "./hidden-paths.ts";
import { isWithin, type Mount, pinParents } from "./mounts.ts";
import { guardProject, type ProjectGuards } from "./project-guards.ts";

export interface SandboxFacts {
  readonly options: TerminalOptions;
  readonly variables: Readonly<Record<string, string | undefined>>;
  /** The home of the profile, and the root home. */
  readonly hermesHomes: readonly string[];
  /** The folder that commands start in. */
  readonly cwd: string;
  /** The folder of the host that holds the temporary files of the sandbox. */
  readonly temporary: string;
}

/** What the commands of a sandbox can reach. */
export interface SandboxPlan extends Omit<ProjectGuards, "mounts"> {
  readonly mode: "workspace" | "strict";
  readonly hasNetwork: boolean;
  /** The program that creates the sandbox. */
  readonly bubblewrap: string;
  /** The program that creates FIFOs. */
  readonly mkfifo: string;
  readonly mounts: readonly Mount[];
  /** The folders of the machine that commands may change. */
  readonly writable: readonly string[];
  /** The project. It is read-only if it contains the home folder or the files of Hermes. */
  readonly workspace: string;
  readonly hidden: readonly string[];
}

/** Temporary folders of the machine, which hold files and sockets of other programs. */
const TEMPORARY = ["/tmp", "/var/tmp"];
/** Folders with personal files, which `strict` hides. */
const PERSONAL = ["/home", "/root", "/Users", "/mnt", "/media", "/srv", "/var/www", "/var/lib", "/var/spool"];
/** Paths in /run that the system needs to resolve host names and to find programs. */
const NEEDED_IN_RUN = ["/etc/resolv.conf", "/run/current-system", "/run/opengl-driver"];

export async function planSandbox(facts: SandboxFacts): Promise<SandboxPlan> {
  const { options, variables, temporary } = facts;
  const mode = options.local_sandbox === "strict" ? "strict" : "workspace";
  const userHome = await resolveRealPath(variables["HOME"] || homedir());
  const hermesHomes = await Promise.all(facts.hermesHomes.map(resolveRealPath));
  const workspace = await findWorkspace(await resolveRealPath(facts.cwd), userHome);
  const containsHome = isWithin(userHome, workspace) || hermesHomes.some((home) => isWithin(home, workspace));
  const named = options.local_sandbox_writable.map((path) => expand(path, userHome));
  const allowed = (await Promise.all(named.map(ifPresent))).flat();
  const writable = [...new Set([...(containsHome ? [] : [workspace]), ...allowed])];
  const guards = await Promise.all(writable.map(guardProject));
  const own = variables["TMPDIR"] === undefined ? [] : [await resolveRealPath(variables["TMPDIR"])];
  const temporaryFolders = [...TEMPORARY, ...own.filter((path) => !isWithin(workspace, path))];
  const covered = ["/run", "/dev", ...temporaryFolders, ...writable];
  // A home below a temporary folder would otherwise be hidden with it.
  const homes =
    mode === "workspace" && temporaryFolders.some((path) => isWithin(userHome, path)) ? [userHome] : [];
  const isShown = (path: string): boolean =>
    homes.some((home) => isWithin(path, home)) && !writable.some((folder) => isWithin(path, folder));
  const hidden = [
    ...(mode === "strict" ? (await Promise.all([...PERSONAL, userHome].map(hidePath))).flat() : []),
    ...(await findCredentials(userHome)),
    ...(await Promise.all(hermesHomes.map(hidePath))).flat(),
    ...(await findSockets((path) => covered.some((folder) => isWithin(path, folder)) && !isShown(path))),
  ];
  const caches = await Promise.all(hermesHomes.map((home) => ifPresent(join(home, "cache"))));
  const needed = await Promise.all(NEEDED_IN_RUN.map(ifPresent));
  const tools = mode === "strict" ? await findTools(variables["PATH"] ?? "") : [];
  const mounts: Mount[] = [
    { kind: "hidden-folder", path: "/run" },
    ...temporaryFolders.map((path): Mount => ({ kind: "write", path, source: temporary })),
    ...[...homes, workspace, ...tools, ...caches.flat(), ...needed.flat()]
      .filter((path) => path !== "/" && (path === userHome || !isWithin(userHome, path)))
      .map((path): Mount => ({ kind: "read", path })),
    ...hidden,
    ...writable.map((path): Mount => ({ kind: "write", path })),
    ...guards.flatMap(({ mounts }) => mounts),
  ];
  return {
    mode,
    bubblewrap: await findProgram("bwrap", variables["PATH"] ?? "", writable),
    mkfifo: await findProgram("mkfifo", variables["PATH"] ?? "", writable),
    hasNetwork: mode === "workspace" && options.local_sandbox_network,
    workspace,
    writable,
    hidden: [...new Set(hidden.map(({ path }) => path))].toSorted(),
    mounts: [...mounts, ...pinParents(mounts)],
    forbiddenFiles: guards.flatMap(({ forbiddenFiles }) => forbiddenFiles),
    absentFiles: guards.flatMap(({ absentFiles }) => absentFiles),
    nestedRepositories: guards.flatMap(({ nestedRepositories }) => nestedRepositories),
    placeholder: guards.find(({ placeholder }) => placeholder !== undefined)?.placeholder,
  };
}

/** The repository that a folder belongs to, or the folder itself. A repository at the home folder is not the project of folders in it. */
async function findWorkspace(cwd: string, userHome: string): Promise<string> {
  for (let folder = cwd; folder !== "/" && folder !== userHome; folder = dirname(folder))
    if (await unlessMissing(stat(join(folder, ".git")))) return folder;
  return cwd;
}

/** The folders of programs on the PATH, each with its neighbouring libraries: a hidden home may contain some of them. */
async function findTools(path: string): Promise<string[]> {
  const folders = path.split(":").filter((folder) => /^\/.*\/bin$/.test(folder));
  return (await Promise.all(folders.map((folder) => ifPresent(dirname(folder))))).flat();
}

/** The first program of that name on the PATH that no sandboxed command could have created. */
async function findProgram(name: string, path: string, writable: readonly string[]): Promise<string> {
  for (const folder of path.split(":").filter((entry) => entry.startsWith("/"))) {
    const program = join(folder, name);
    const found = await realpath(program).catch(() => undefined);
    if (found !== undefined && ![folder, found].some((one) => writable.some((open) => isWithin(one, open))))
      return program;
  }
  return join("/usr/bin", name); // starting it fails, and the refusal reports that failure
}

async function ifPresent(path: string): Promise<string[]> {
  const found = await realpath(path).catch(() => undefined);
  return found === undefined ? [] : [found];
}

async function resolveRealPath(path: string): Promise<string> {
  return realpath(path).catch(() => resolve(path));
}

function expand(path: string, userHome: string): string {
  return path === "~" || path.startsWith("~/") ? join(userHome, path.slice(1)) : resolve(path);
}
