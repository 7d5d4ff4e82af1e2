import { readFile } from "node:fs/promises";
import { z } from "zod";
import { writeFileAtomic } from "../lib/files/files.ts";
import { unlessMissing } from "../lib/files/unless-missing.ts";

const PUBLIC = 0o044;
const stored = z.record(z.string(), z.number());

export type PrivateModes = Awaited<ReturnType<typeof openPrivateModes>>;

/**
 * The permissions of those files of a project that not everybody may read. git only stores whether a file is a program, and a
 * file that comes back after it was deleted must not be readable by more people than before.
 */
export async function openPrivateModes(path: string) {
  const text = await unlessMissing(readFile(path, "utf8"));
  const modes = new Map(Object.entries(text === undefined ? {} : stored.parse(JSON.parse(text))));
  let isChanged = false;
  return {
    /** The permissions of a file; undefined if everybody could always read it. */
    get: (file: string): number | undefined => modes.get(file),
    note(file: string, mode: number): void {
      const permissions = mode & 0o777;
      // A private file stays known as one: the turn that is to be undone may have replaced it by a readable one.
      if ((permissions & PUBLIC) === PUBLIC || modes.get(file) === permissions) return;
      modes.set(file, permissions);
      isChanged = true;
    },
    async store(): Promise<void> {
      if (isChanged) await writeFileAtomic(path, JSON.stringify(Object.fromEntries(modes)), { mode: 0o600 });
    },
  };
}
