import { appendFile } from "node:fs/promises";
import { z } from "zod";
import { ensurePrivateFile } from "../../../lib/files/ensure-private-file.ts";
import { withFileLock } from "../../../lib/files/file-lock.ts";
import { readTextFile, writeFileAtomic } from "../../../lib/files/files.ts";
import type { Redactor } from "../../../lib/redact/redactor.ts";
import type { HistoryEntry } from "./history.ts";

/** Where a message was typed. */
export interface HistoryOrigin {
  readonly sessionId: string;
  readonly folder: string;
}

/** The messages of all chats of a profile, in a file that only its owner can read. */
export interface HistoryStore {
  /** The stored messages, newest first, each with how far its origin is from the given one. */
  load(origin: HistoryOrigin): Promise<HistoryEntry[]>;
  /** Stores a message, unless it contains a secret. */
  add(text: string, origin: HistoryOrigin, signal: AbortSignal): Promise<void>;
}

/** When the file has twice as many entries, the older half is removed. */
const MAX_ENTRIES = 2_000;
/** Longer messages are not stored: they are pasted files, which users do not search the history for. */
const MAX_CHARS = 20_000;

const storedEntry = z.object({ text: z.string(), session: z.string(), folder: z.string() });

export function createHistoryStore(path: string, redactor: Redactor): HistoryStore {
  let count: number | undefined;
  return {
    async load({ sessionId, folder }) {
      const lines = ((await readTextFile(path)) ?? "").trimEnd().split("\n");
      count = lines.length;
      return lines.toReversed().flatMap((line): HistoryEntry[] => {
        const entry = parseLine(line);
        if (entry === undefined) return [];
        const from =
          entry.session === sessionId ? "session" : entry.folder === folder ? "folder" : "elsewhere";
        return [{ text: entry.text, from }];
      });
    },
    async add(text, { sessionId, folder }, signal) {
      if (text.length > MAX_CHARS || redactor.redact(text) !== text) return;
      await ensurePrivateFile(path);
      await withFileLock(
        `${path}.lock`,
        async () => {
          await appendFile(path, `${JSON.stringify({ text, session: sessionId, folder })}\n`);
          count = (count ?? 0) + 1;
          if (count <= 2 * MAX_ENTRIES) return;
          const lines = ((await readTextFile(path)) ?? "").trimEnd().split("\n").slice(-MAX_ENTRIES);
          await writeFileAtomic(path, `${lines.join("\n")}\n`);
          count = lines.length;
        },
        signal,
      );
    },
  };
}

/** Undefined for a line that was cut off by a full disk. */
function parseLine(line: string): z.infer<typeof storedEntry> | undefined {
  try {
    return storedEntry.safeParse(JSON.parse(line)).data;
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}
