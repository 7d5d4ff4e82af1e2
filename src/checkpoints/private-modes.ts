import { readFile } from "node:fs/promises";
import { z } from "zod";
import { writeFileAtomic } from "../lib/files/files.ts";
import { unlessMissing } from "../lib/files/unless-missing.ts";

const PUBLIC = 0o044;
const stored = z.record(z.string(), z.number());

export type PrivateModes = Awaited<ReturnType<typeof openPrivateModes>>;

/**
 * Records the permissions of a project's private files, which git does not store: a restored file must not be readable by
 * more users than before.
 */
export async function openPrivateModes(path: string) {
  const text = await unlessMissing(readFile(path, "utf8"));
  const modes = new Map(Object.entries(text === undefined ? {} : stored.parse(JSON.parse(text))));
  let isChanged = false;
  return {
    /** The permissions of a private file; undefined for a file that was always public. */
    get: (file: string): number | undefined => modes.get(file),
    note(file: string, mode: number): void {
      const permissions = mode & 0o777;
      // Keep the record of a file that is public now: the turn to be undone may have made it public.
      if ((permissions & PUBLIC) === PUBLIC || modes.get(file) === permissions) return;
      modes.set(file, permissions);
      isChanged = true;
    },
    async store(): Promise<void> {
      if (isChanged) await writeFileAtomic(path, JSON.stringify(Object.fromEntries(modes)), { mode: 0o600 });
    },
  };
}
