import { readdir } from "node:fs/promises";
import { dirname, join } from "node:path";
import { exists } from "../../lib/files/unless-missing.ts";
import { type ContextFile, type ContextRules, loadContextFile, shortenContext } from "./context-file.ts";

/** Only the first existing file is used. Files with Hermes' own names are also searched in parent folders of the repository. */
const OWN_NAMES = [".hermes.md", "HERMES.md"];
const OTHER_NAMES = ["AGENTS.md", "CLAUDE.md"];

/** Finds the project's instructions for agents; undefined if the project has none. */
export async function findProjectContext(
  cwd: string,
  rules: ContextRules,
  signal: AbortSignal,
): Promise<ContextFile | undefined> {
  const folders = await foldersUpToRoot(cwd);
  const root = folders.at(-1) ?? cwd;
  const load = (path: string): Promise<ContextFile | undefined> => loadContextFile(path, rules, root, signal);
  for (const folder of folders) {
    for (const name of folder === cwd ? [...OWN_NAMES, ...OTHER_NAMES] : OWN_NAMES) {
      const found = await load(join(folder, name));
      if (found !== undefined) return found;
    }
    const cursor = folder === cwd ? await loadCursorRules(cwd, rules.maxChars, load) : undefined;
    if (cursor !== undefined) return cursor;
  }
  return undefined;
}

/** The working folder and its parents up to the root of the repository; outside of a repository, only the working folder. */
async function foldersUpToRoot(cwd: string): Promise<readonly string[]> {
  const folders: string[] = [];
  for (let folder = cwd; ; folder = dirname(folder)) {
    folders.push(folder);
    // `.git` is a folder in a checkout and a file in a worktree.
    if (await exists(join(folder, ".git")).catch(() => false)) return folders;
    if (folder === dirname(folder)) return [cwd];
  }
}

async function loadCursorRules(
  cwd: string,
  maxChars: number,
  load: (path: string) => Promise<ContextFile | undefined>,
): Promise<ContextFile | undefined> {
  const folder = join(cwd, ".cursor", "rules");
  const names = (await readdir(folder).catch(() => [])).filter((name) => name.endsWith(".mdc")).sort();
  const found: ContextFile[] = [];
  for (const path of [join(cwd, ".cursorrules"), ...names.map((name) => join(folder, name))]) {
    const file = await load(path);
    if (file !== undefined) found.push(file);
  }
  const [first, ...others] = found;
  if (first === undefined || (others.length === 0 && first.path.endsWith(".cursorrules"))) return first;
  return { path: folder, text: shortenContext(found.map(({ text }) => text).join("\n\n"), maxChars) };
}
