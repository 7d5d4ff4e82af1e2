import { readdir, readFile } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { unlessMissing } from "../../../lib/files/unless-missing.ts";

/** A larger project is searched only in part. */
const MAX_FOLDERS = 20_000;
const MAX_DEPTH = 12;
const AT_ONCE = 16;
/** Folders of installed packages, which may be huge and are replaced as a whole. */
const SKIPPED = new Set(["node_modules", ".venv", "__pycache__"]);

/** The `.git` files and folders below a project, without its own. Symbolic links are not followed. */
export async function findNestedRepositories(project: string): Promise<string[]> {
  const found: string[] = [];
  let folders = [project];
  let left = MAX_FOLDERS;
  for (let depth = 0; folders.length > 0 && depth < MAX_DEPTH; depth++) {
    const below: string[] = [];
    for (let at = 0; at < folders.length && left > 0; at += AT_ONCE) {
      const batch = folders.slice(at, at + AT_ONCE);
      left -= batch.length;
      // The folder may have been removed or made unreadable meanwhile.
      const listings = batch.map((folder) => readdir(folder, { withFileTypes: true }).catch(() => []));
      for (const [index, entries] of (await Promise.all(listings)).entries()) {
        const folder = batch[index] ?? "";
        for (const entry of entries) {
          if (entry.name === ".git") {
            if (folder !== project && !entry.isSymbolicLink()) found.push(join(folder, ".git"));
          } else if (entry.isDirectory() && !SKIPPED.has(entry.name)) below.push(join(folder, entry.name));
        }
      }
    }
    folders = below;
  }
  return found.toSorted();
}

/** Settings of a new or cloned repository. None of them names a program. */
const ORDINARY_SETTINGS: readonly RegExp[] = [
  /^core\.(?:repositoryformatversion|filemode|bare|logallrefupdates|ignorecase|precomposeunicode|symlinks|autocrlf|eol|worktree)$/,
  /^(?:extensions\.(?:objectformat|refstorage|partialclone)|init\.defaultbranch|user\.(?:name|email)|submodule\.active)$/,
  /^remote\.(?:url|fetch|tagopt|promisor|partialclonefilter|pushurl)$/,
  /^branch\.(?:remote|merge|rebase)$/,
  /^submodule\.(?:url|active)$/,
];

/**
 * Describes what git would run or obey in a repository and neither a clone nor `git init` creates; undefined if there is
 * nothing. `main` is the repository of the project, which is guarded separately.
 */
export async function findPlantedCode(repository: string, main: string): Promise<string | undefined> {
  const entries = await unlessMissing(readdir(repository).catch(unlessFolder));
  if (entries === undefined) return undefined;
  if (entries === "a file") {
    const named = /^gitdir: (.+)$/m.exec(await readText(repository))?.[1]?.trim();
    const target = resolve(dirname(repository), named ?? "");
    return named === undefined || target === repository ? undefined : findPlantedCode(target, main);
  }
  if (entries.includes("config.worktree")) return "contains config.worktree";
  if (entries.includes("commondir")) {
    const common = resolve(repository, (await readText(join(repository, "commondir"))).trim());
    return common === main ? undefined : "takes its settings from another folder";
  }
  const hooks = (await unlessMissing(readdir(join(repository, "hooks")).catch(unlessFolder))) ?? [];
  const hook = hooks === "a file" ? undefined : hooks.find((name) => !name.endsWith(".sample"));
  if (hook !== undefined) return `contains the hook ${hook}`;
  const settings = listSettings(await readText(join(repository, "config")));
  const setting = settings.find((key) => !ORDINARY_SETTINGS.some((ordinary) => ordinary.test(key)));
  return setting === undefined ? undefined : `sets ${setting}`;
}

async function readText(path: string): Promise<string> {
  return readFile(path, "utf8").catch(() => "");
}

function unlessFolder(error: unknown): "a file" {
  if (error instanceof Error && "code" in error && error.code === "ENOTDIR") return "a file";
  throw error;
}

/** The keys of a configuration, without the names of its subsections. A line that cannot be parsed counts as a key. */
function listSettings(config: string): string[] {
  let section = "";
  const keys: string[] = [];
  for (const line of config.split("\n").map((text) => text.trim())) {
    if (line === "" || /^[#;]/.test(line)) continue;
    const heading = /^\[\s*([\w.-]+)(?:\s+"[^"]*")?\s*\](.*)$/.exec(line);
    section = heading?.[1]?.toLowerCase() ?? section;
    const rest = heading === null ? line : (heading[2] ?? "").trim();
    if (rest === "") continue;
    const name = /^([A-Za-z][\w-]*)\s*(?:=|$)/.exec(rest)?.[1];
    keys.push(name === undefined ? rest.slice(0, 80) : `${section}.${name.toLowerCase()}`);
  }
  return keys;
}
