import { createHash, randomBytes } from "node:crypto";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import { withFileLock } from "../../../lib/files/file-lock.ts";
import { createFolder, readTextFile, writeFileAtomic } from "../../../lib/files/files.ts";
import { listNames } from "../../../lib/files/unless-missing.ts";
import {
  checkLiveness,
  type ProcessIdentity,
  parseIdentity,
  serialiseIdentity,
} from "../../../lib/process/process-identity.ts";

/** The texts that the user has typed and the agent has not received. */
export interface Unsent {
  readonly draft: string;
  /** The draft that the user has set aside. */
  readonly stash: string;
  /** Oldest first. */
  readonly queue: readonly string[];
}

/** The chat that the texts belong to. */
export interface UnsentOwner {
  readonly sessionId: string;
  /** A session without a message cannot be resumed, so a new chat in the same folder gets its texts. */
  readonly isStored: boolean;
  readonly folder: string;
}

/** Stores unsent texts, one file per running chat, so that nothing is lost when a chat is killed. */
export interface UnsentStore {
  /** Takes over the texts that chats which have exited left for this owner. A running chat keeps its own. */
  take(owner: UnsentOwner, signal: AbortSignal): Promise<Unsent | undefined>;
  /** Replaces the texts of this chat. */
  write(owner: UnsentOwner, unsent: Unsent): Promise<void>;
}

const fileSchema = z.object({
  version: z.literal(1),
  process: z.string(),
  draft: z.string(),
  stash: z.string(),
  queue: z.array(z.string()),
});
type UnsentFile = z.infer<typeof fileSchema>;

export function createUnsentStore(folder: string, identity: ProcessIdentity): UnsentStore {
  const ending = `.${randomBytes(6).toString("hex")}.json`;
  let written: string | undefined;

  async function write(owner: UnsentOwner, unsent: Unsent): Promise<void> {
    const path = join(folder, prefixOf(owner) + ending);
    if (isEmpty(unsent)) {
      if (written !== undefined) await rm(written, { force: true });
      written = undefined;
      return;
    }
    await createFolder(folder);
    const file: UnsentFile = {
      version: 1,
      process: serialiseIdentity(identity),
      draft: unsent.draft,
      stash: unsent.stash,
      queue: [...unsent.queue],
    };
    await writeFileAtomic(path, `${JSON.stringify(file)}\n`, { mode: 0o600 });
    if (written !== undefined && written !== path) await rm(written, { force: true });
    written = path;
  }

  async function list(owner: UnsentOwner): Promise<string[]> {
    const names = await listNames(folder);
    const prefix = `${prefixOf(owner)}.`;
    return names.filter((name) => name.startsWith(prefix) && name.endsWith(".json")).sort();
  }

  return {
    write,
    async take(owner, signal) {
      if ((await list(owner)).length === 0) return undefined;
      return withFileLock(
        join(folder, "lock"),
        async () => {
          const paths = (await list(owner)).map((name) => join(folder, name));
          const abandonedFiles: { readonly path: string; readonly file: UnsentFile }[] = [];
          for (const path of paths) {
            const file = parseFile(await readTextFile(path));
            if (file !== undefined && (await isAbandoned(file, signal))) abandonedFiles.push({ path, file });
          }
          if (abandonedFiles.length === 0) return undefined;
          const taken = merge(abandonedFiles.map(({ file }) => file));
          // Written before the old files are removed, so that a crash in between loses nothing.
          await write(owner, taken);
          for (const { path } of abandonedFiles) await rm(path, { force: true });
          return taken;
        },
        signal,
      );
    },
  };
}

function prefixOf({ sessionId, isStored, folder }: UnsentOwner): string {
  if (isStored) return sessionId;
  return `new-${createHash("sha256").update(folder).digest("hex").slice(0, 16)}`;
}

function isEmpty({ draft, stash, queue }: Unsent): boolean {
  return draft.trim() === "" && stash.trim() === "" && queue.length === 0;
}

async function isAbandoned({ process }: UnsentFile, signal: AbortSignal): Promise<boolean> {
  const owner = parseIdentity(process);
  return owner === undefined || (await checkLiveness(owner, signal)) === "dead";
}

/** A chat has one draft and one stash; those of further chats become queued messages. */
function merge(files: readonly UnsentFile[]): Unsent {
  const drafts = distinct(files.map(({ draft }) => draft));
  const stashes = distinct(files.map(({ stash }) => stash));
  return {
    draft: drafts[0] ?? "",
    stash: stashes[0] ?? "",
    queue: [...files.flatMap(({ queue }) => queue), ...drafts.slice(1), ...stashes.slice(1)],
  };
}

function distinct(texts: readonly string[]): string[] {
  return [...new Set(texts.filter((text) => text.trim() !== ""))];
}

/** Undefined for a file that is damaged, as after a crash of the machine, or that another version has written. */
function parseFile(text: string | undefined): UnsentFile | undefined {
  try {
    return fileSchema.safeParse(JSON.parse(text ?? "")).data;
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}
