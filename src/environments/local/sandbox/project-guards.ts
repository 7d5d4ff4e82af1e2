import { lstat, mkdir, readdir, readFile, realpath } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { AppError } from "../../../lib/errors.ts";
import { unlessMissing } from "../../../lib/files/unless-missing.ts";
import { isWithin, type Mount } from "./mounts.ts";
import { findNestedRepositories } from "./nested-repositories.ts";

/** Files and folders of a project that configure programs outside the sandbox, or are run by them. */
const CONFIGURING_FILES = [
  ".hermes",
  ".vscode",
  ".idea",
  ".envrc",
  ".mcp.json",
  ".gitconfig",
  ".bashrc",
  ".bash_profile",
  ".bash_login",
  ".profile",
  ".zshrc",
  ".zshenv",
  ".zprofile",
];
const MODULES_DEPTH = 3;

/** What stays read-only in a writable project: hooks and settings of git, and files that other programs obey. */
export interface ProjectGuards {
  readonly mounts: readonly Mount[];
  /** Files that would redirect git to other settings and did not exist when the sandbox was created; they are removed. */
  readonly forbiddenFiles: readonly string[];
  /** Missing files that other programs would obey. Many tools create such files, so a new one is only reported. */
  readonly absentFiles: readonly string[];
  /** The folder `.git` if it does not exist; bubblewrap creates it as a mount point. */
  readonly placeholder: string | undefined;
  /** The `.git` files and folders below the project that are guarded as well. */
  readonly nestedRepositories: readonly string[];
}

/** Finds what must stay read-only, so that no command can plant code that later runs outside the sandbox. */
export async function guardProject(project: string): Promise<ProjectGuards> {
  const paths = CONFIGURING_FILES.map((name) => join(project, name));
  const obeyed = await Promise.all(paths.map(readOnlyIfPresent));
  const git = await guardGit(project);
  const found = await findNestedRepositories(project);
  const guards = await Promise.all(found.map(guardNested));
  const nestedRepositories = found.filter((_, index) => guards[index] !== undefined);
  const ofNested = guards.filter((guard) => guard !== undefined);
  return {
    placeholder: git.placeholder,
    mounts: [...git.mounts, ...obeyed.flat(), ...ofNested.flatMap(({ mounts }) => mounts)],
    forbiddenFiles: [...git.forbiddenFiles, ...ofNested.flatMap(({ forbiddenFiles }) => forbiddenFiles)],
    absentFiles: await findMissing(paths),
    nestedRepositories,
  };
}

/** A `.git` file points to the repository of a submodule or a work tree, which is guarded at its own path. */
async function guardNested(
  path: string,
): Promise<Pick<ProjectGuards, "mounts" | "forbiddenFiles"> | undefined> {
  const found = await unlessMissing(lstat(path));
  if (found?.isFile()) return { mounts: [{ kind: "read", path }], forbiddenFiles: [] };
  // Without this file it is not a repository yet. If a command completes it, the repository watch reports it.
  const isRepository =
    found !== undefined && (await unlessMissing(lstat(join(path, "config")))) !== undefined;
  return isRepository ? guardRepository(path) : undefined;
}

async function guardGit(project: string): Promise<Omit<ProjectGuards, "absentFiles" | "nestedRepositories">> {
  const path = join(project, ".git");
  const found = await unlessMissing(lstat(path));
  const isEmpty = found?.isDirectory() && (await readdir(path)).length === 0;
  // An earlier sandbox leaves an empty folder if its process was killed.
  if (found === undefined || isEmpty)
    return { mounts: [{ kind: "hidden-folder", path }], forbiddenFiles: [], placeholder: path };
  if (found.isSymbolicLink())
    throw new AppError(
      "sandbox-refused",
      `${path} is a symbolic link, so terminal.local_sandbox cannot protect the hooks of git.`,
      { hint: "Start Hermes in the folder to which the link leads, or set terminal.local_sandbox to off." },
    );
  if (found.isDirectory()) return { ...(await guardRepository(path)), placeholder: undefined };
  const main = await findMainRepository(path);
  const file: Mount = { kind: "read", path };
  if (main === undefined) return { mounts: [file], forbiddenFiles: [], placeholder: undefined };
  const guarded = await guardRepository(main.repository);
  const forbiddenFiles = [...guarded.forbiddenFiles, join(main.folder, "config.worktree")];
  return { mounts: [...guarded.mounts, file], forbiddenFiles, placeholder: undefined };
}

/** Makes hooks and settings read-only. The rest stays writable, because a commit writes everywhere in a repository. */
async function guardRepository(
  repository: string,
): Promise<Pick<ProjectGuards, "mounts" | "forbiddenFiles">> {
  const hooks = join(repository, "hooks");
  const config = join(repository, "config");
  const modules = join(repository, "modules");
  const isPlain = async (path: string): Promise<boolean> =>
    (await unlessMissing(lstat(path)))?.isSymbolicLink() === false;
  if (!(await unlessMissing(lstat(hooks)))) await mkdir(hooks);
  // Mounts below a link would be created at its target.
  const isLinkedAway = (await unlessMissing(lstat(modules)))?.isSymbolicLink() === true;
  if (isLinkedAway || !(await isPlain(hooks)) || !(await isPlain(config)))
    return { mounts: [{ kind: "read", path: repository }], forbiddenFiles: [] };
  const redirections = ["commondir", "config.worktree"].map((name) => join(repository, name));
  const [commonFolder = ""] = redirections;
  if (await unlessMissing(lstat(commonFolder)))
    throw new AppError(
      "sandbox-refused",
      `${commonFolder} redirects git to hooks and settings in another folder. A background command may have created it.`,
      { hint: "Inspect and delete it before you run git here: only linked work trees have such a file." },
    );
  return {
    mounts: [
      { kind: "write", path: repository }, // a mount point cannot be renamed and replaced
      { kind: "read", path: hooks },
      { kind: "read", path: config },
      ...(await Promise.all(redirections.map(readOnlyIfPresent))).flat(),
      ...(await guardHooksPath(repository, config)),
      ...(await guardModules(modules, MODULES_DEPTH)),
    ],
    forbiddenFiles: await findMissing(redirections),
  };
}

/** The folder that `core.hooksPath` names, if it is part of the project. */
async function guardHooksPath(repository: string, config: string): Promise<Mount[]> {
  const project = dirname(repository);
  const named = /^\s*hooksPath\s*=\s*"?([^"\n]+?)"?\s*$/im.exec(await readFile(config, "utf8"))?.[1];
  if (named === undefined) return [];
  const path = resolve(project, named.replace(/\/_$/, "")); // husky keeps the hooks in the parent of its folder `_`
  const folder = await unlessMissing(realpath(path));
  return folder !== undefined && isWithin(folder, project) ? readOnlyIfPresent(folder) : [];
}

/** Repositories of submodules have hooks and settings of their own. */
async function guardModules(folder: string, depth: number): Promise<Mount[]> {
  const entries = (await unlessMissing(readdir(folder, { withFileTypes: true }))) ?? [];
  const mounts = entries
    .filter((entry) => entry.isDirectory())
    .map(async ({ name }) => {
      const path = join(folder, name);
      if (await unlessMissing(lstat(join(path, "HEAD")))) return (await guardRepository(path)).mounts;
      return depth > 0 ? guardModules(path, depth - 1) : [];
    });
  return (await Promise.all(mounts)).flat();
}

/** The repository of a linked work tree. It is trusted only if it refers back to this work tree. */
async function findMainRepository(
  file: string,
): Promise<{ readonly repository: string; readonly folder: string } | undefined> {
  const named = /^gitdir: (.+)$/m.exec(await readFile(file, "utf8"))?.[1];
  if (named === undefined) return undefined;
  const folder = await unlessMissing(realpath(resolve(dirname(file), named)));
  if (folder === undefined) return undefined;
  const backReference = (await unlessMissing(readFile(join(folder, "gitdir"), "utf8")))?.trim();
  const commonFolder = (await unlessMissing(readFile(join(folder, "commondir"), "utf8")))?.trim();
  if (backReference === undefined || commonFolder === undefined) return undefined;
  const repository = await unlessMissing(realpath(resolve(folder, commonFolder)));
  if (repository === undefined || dirname(dirname(folder)) !== repository) return undefined;
  const isOurs = (await unlessMissing(realpath(resolve(folder, backReference)))) === (await realpath(file));
  return isOurs ? { repository, folder } : undefined;
}

async function readOnlyIfPresent(path: string): Promise<Mount[]> {
  const found = await unlessMissing(lstat(path));
  // A mount cannot cover a symbolic link; its target is protected at its own path.
  return found === undefined || found.isSymbolicLink() ? [] : [{ kind: "read", path }];
}

async function findMissing(paths: readonly string[]): Promise<string[]> {
  const found = await Promise.all(paths.map((path) => unlessMissing(lstat(path))));
  return paths.filter((_, index) => found[index] === undefined);
}
