import { readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { openDeadline } from "../lib/deadline.ts";

/** The first of these that is there counts; ours are looked for up to the root of the repository. */
const UPWARDS = [".hermes.md", "HERMES.md"];
const HERE = ["AGENTS.md", "CLAUDE.md", ".cursorrules"];
const MOST_CHARS = 20_000;
const HEAD = 0.7;
const TAIL = 0.2;
const READ_WITHIN_MS = 5_000;

/** Instructions that a project has for agents; undefined when it has none. */
export async function findProjectContext(
  cwd: string,
  signal: AbortSignal,
): Promise<{ readonly path: string; readonly text: string } | undefined> {
  for (let folder = cwd; ; folder = dirname(folder)) {
    for (const name of folder === cwd ? [...UPWARDS, ...HERE] : UPWARDS) {
      const path = join(folder, name);
      const text = await readQuickly(path, signal);
      if (text !== undefined && text.trim() !== "") return { path, text: shorten(text) };
    }
    if (folder === dirname(folder) || (await isRepository(folder, signal))) return undefined;
  }
}

async function readQuickly(path: string, signal: AbortSignal): Promise<string | undefined> {
  using within = openDeadline(signal, READ_WITHIN_MS);
  try {
    return await readFile(path, { encoding: "utf8", signal: within.signal });
  } catch {
    signal.throwIfAborted();
    return undefined; // not there, a folder, not ours to read: all mean that it has nothing to say
  }
}

async function isRepository(folder: string, signal: AbortSignal): Promise<boolean> {
  return (await readQuickly(join(folder, ".git", "HEAD"), signal)) !== undefined;
}

function shorten(text: string): string {
  if (text.length <= MOST_CHARS) return text;
  const head = text.slice(0, MOST_CHARS * HEAD);
  const tail = text.slice(-MOST_CHARS * TAIL);
  return `${head}\n\n[${text.length - head.length - tail.length} characters left out]\n\n${tail}`;
}
