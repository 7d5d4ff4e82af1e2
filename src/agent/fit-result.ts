import { randomBytes } from "node:crypto";
import { lstat, readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { messageOf } from "../lib/errors.ts";
import { ensurePrivateFolder, writeFileAtomic } from "../lib/files.ts";
import { headOf } from "../lib/shorten.ts";

const MOST_CHARS = 100_000;
const PREVIEW_CHARS = 8_000;
const KEEP_MS = 7 * 24 * 60 * 60 * 1_000;
const OURS = /^[a-z][\w-]*-\d+-[0-9a-f]{8}\.txt$/;
/** A result may take a quarter of the model's window, at about four characters a token. */
const CHARS_PER_TOKEN_OF_WINDOW = 1;

export interface FitOptions {
  /** Home of the profile. */
  readonly home: string;
  /** The model's window, where it is known. */
  readonly contextTokens: number | undefined;
  /** How much of a result is kept in its file. */
  readonly spillBytes: number;
  now(): number;
}

/** Results longer than the model may get go to a file under `cache/spillover`; the model gets the beginning and the path. */
export function createResultFitter(options: FitOptions): (text: string, tool: string) => Promise<string> {
  const { contextTokens = Number.POSITIVE_INFINITY } = options;
  const most = Math.min(MOST_CHARS, contextTokens * CHARS_PER_TOKEN_OF_WINDOW);
  return async (text, tool) => {
    if (text.length <= most) return text;
    const preview = headOf(text, Math.min(PREVIEW_CHARS, most));
    const said = `[The result of ${tool} has ${text.length} characters; these are the first ${preview.length}.`;
    try {
      return `${preview}\n${said} ${await save(text, tool, options)}]`;
    } catch (error) {
      return `${preview}\n${said} The rest could not be saved: ${messageOf(error)}]`;
    }
  };
}

async function save(text: string, tool: string, { home, spillBytes, now }: FitOptions): Promise<string> {
  if (spillBytes === 0) return "The rest was not kept.";
  const folder = join(home, "cache", "spillover");
  await ensurePrivateFolder(folder);
  await prune(folder, now() - KEEP_MS);
  const path = join(folder, `${tool}-${now()}-${randomBytes(4).toString("hex")}.txt`);
  const bytes = Buffer.from(text);
  await writeFileAtomic(path, bytes.subarray(0, spillBytes), { mode: 0o600 });
  const what = bytes.length <= spillBytes ? "All of it is" : `Its first ${spillBytes} bytes are`;
  return `${what} in ${path} on the user's machine.`;
}

/** Removes what is too old to be asked for. A file that cannot be removed must not cost the new one. */
async function prune(folder: string, before: number): Promise<void> {
  const names = (await readdir(folder)).filter((name) => OURS.test(name));
  await Promise.allSettled(
    names.map(async (name) => {
      const found = await lstat(join(folder, name));
      if (found.isFile() && found.mtimeMs < before) await rm(join(folder, name), { force: true });
    }),
  );
}
