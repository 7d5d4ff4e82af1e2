import { type FileHandle, open, readdir, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { openDeadline } from "../lib/deadline.ts";
import { headOf, tailOf } from "../lib/shorten.ts";

/** Instructions from a file, with where they are from. */
export interface ContextFile {
  readonly path: string;
  readonly text: string;
}

/** The first of these that is there counts; ours are looked for up to the root of the repository. */
const UPWARDS = [".hermes.md", "HERMES.md"];
const HERE = ["AGENTS.md", "CLAUDE.md"];
const MOST_CHARS = 20_000;
/** A file of which more would be read is not written for a prompt; its end is then not shown. */
const MOST_BYTES = 1_000_000;
const HEAD = 0.7;
const TAIL = 0.2;
const READ_WITHIN_MS = 5_000;

/** Instructions that a project has for agents; undefined when it has none. */
export async function findProjectContext(cwd: string, signal: AbortSignal): Promise<ContextFile | undefined> {
  for (let folder = cwd; ; folder = dirname(folder)) {
    for (const name of folder === cwd ? [...UPWARDS, ...HERE] : UPWARDS) {
      const found = await loadContextFile(join(folder, name), signal);
      if (found !== undefined) return found;
    }
    if (folder === cwd) {
      const rules = await loadCursorRules(cwd, signal);
      if (rules !== undefined) return rules;
    }
    if (folder === dirname(folder) || (await exists(join(folder, ".git")))) return undefined;
  }
}

/** A text for the prompt, shortened if need be; undefined when there is none to be had, for whatever reason. */
export async function loadContextFile(path: string, signal: AbortSignal): Promise<ContextFile | undefined> {
  const text = await readQuickly(path, signal);
  return text === undefined || text.trim() === "" ? undefined : { path, text: shorten(text.trim()) };
}

async function loadCursorRules(cwd: string, signal: AbortSignal): Promise<ContextFile | undefined> {
  const folder = join(cwd, ".cursor", "rules");
  const names = (await readdir(folder).catch(() => [])).filter((name) => name.endsWith(".mdc")).sort();
  const paths = [join(cwd, ".cursorrules"), ...names.map((name) => join(folder, name))];
  const texts: string[] = [];
  for (const path of paths) texts.push((await readQuickly(path, signal)) ?? "");
  const found = texts.map((text) => text.trim()).filter((text) => text !== "");
  if (found.length === 0) return undefined;
  return {
    path: found.length === 1 && texts[0]?.trim() !== "" ? (paths[0] ?? folder) : folder,
    text: shorten(found.join("\n\n")),
  };
}

async function readQuickly(path: string, signal: AbortSignal): Promise<string | undefined> {
  using within = openDeadline(signal, READ_WITHIN_MS);
  try {
    // To open a FIFO would wait for its other end, and no signal stops that.
    if (!(await stat(path)).isFile()) return undefined;
    return await readStart(await open(path), within.signal);
  } catch {
    signal.throwIfAborted();
    return undefined; // not there, not ours to read, too slow: all mean that it has nothing to say
  }
}

async function readStart(file: FileHandle, signal: AbortSignal): Promise<string> {
  try {
    const stream = file.createReadStream({ end: MOST_BYTES - 1, encoding: "utf8", autoClose: false, signal });
    let text = "";
    for await (const chunk of stream) text += chunk;
    return text;
  } finally {
    await file.close();
  }
}

async function exists(path: string): Promise<boolean> {
  // A folder in a checkout, a file in a worktree.
  return stat(path).then(
    () => true,
    () => false,
  );
}

function shorten(text: string): string {
  if (text.length <= MOST_CHARS) return text;
  const head = headOf(text, MOST_CHARS * HEAD);
  const tail = tailOf(text, MOST_CHARS * TAIL);
  return `${head}\n\n[${text.length - head.length - tail.length} characters left out]\n\n${tail}`;
}
