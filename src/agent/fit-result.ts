import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { messageOf } from "../lib/errors.ts";
import { ensurePrivateFolder, removeOldFiles, writeFileAtomic } from "../lib/files/files.ts";
import { headOf } from "../lib/text/shorten.ts";

const MAX_CHARS = 100_000;
const PREVIEW_CHARS = 8_000;
const KEEP_MS = 7 * 24 * 60 * 60 * 1_000;
const SPILL_FILE = /^[a-z][\w-]*-\d+-[0-9a-f]{8}\.txt$/;
/** A result may fill a quarter of the model's context window, at about four characters per token. */
const CHARS_PER_TOKEN_OF_WINDOW = 1;

export interface ResultFitterOptions {
  readonly home: string;
  /** The model's context window, if known. */
  readonly contextTokens: number | undefined;
  /** Maximum number of bytes of a result that are written to its file. */
  readonly spillBytes: number;
  now(): number;
}

/** The length of a result that is passed on unchanged. */
export function maxResultChars(contextTokens = Number.POSITIVE_INFINITY): number {
  return Math.min(MAX_CHARS, contextTokens * CHARS_PER_TOKEN_OF_WINDOW);
}

/** Writes results that are too long for the model to `cache/spillover`; the model gets their beginning and the path. */
export function createResultFitter(
  options: ResultFitterOptions,
): (text: string, tool: string) => Promise<string> {
  const maxChars = maxResultChars(options.contextTokens);
  return async (text, tool) => {
    if (text.length <= maxChars) return text;
    const preview = headOf(text, Math.min(PREVIEW_CHARS, maxChars));
    const summary = `[The result of ${tool} has ${text.length} characters; these are the first ${preview.length}.`;
    try {
      return `${preview}\n${summary} ${await save(text, tool, options)}]`;
    } catch (error) {
      return `${preview}\n${summary} The rest could not be saved: ${messageOf(error)}]`;
    }
  };
}

async function save(
  text: string,
  tool: string,
  { home, spillBytes, now }: ResultFitterOptions,
): Promise<string> {
  if (spillBytes === 0) return "The rest was not kept.";
  const folder = join(home, "cache", "spillover");
  await ensurePrivateFolder(folder);
  await removeOldFiles(folder, SPILL_FILE, now() - KEEP_MS);
  const path = join(folder, `${tool}-${now()}-${randomBytes(4).toString("hex")}.txt`);
  const bytes = Buffer.from(text);
  await writeFileAtomic(path, bytes.subarray(0, spillBytes), { mode: 0o600 });
  const what = bytes.length <= spillBytes ? "The full result is" : `Its first ${spillBytes} bytes are`;
  return `${what} in ${path} on the user's machine.`;
}
