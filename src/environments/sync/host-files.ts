import { createHash } from "node:crypto";
import { constants, type FileHandle, lstat, open } from "node:fs/promises";
import { unlessMissing } from "../../lib/files/unless-missing.ts";
import type { ManifestEntry } from "./manifest.ts";
import { findPathProblem, type OfferedFile, type OfferedFiles } from "./offered-file.ts";

/** The size field of an archive header cannot hold a larger number. */
const MAX_BYTES = 8 * 1024 ** 3;

/** The current state of an offered file. */
export interface HostFile extends OfferedFile, ManifestEntry {
  readonly digest: string;
  readonly size: number;
  readonly modifiedSeconds: number;
}

export interface HostFilesFound {
  readonly files: ReadonlyMap<string, HostFile>;
  /** Skipped files with their reasons, as complete sentences. */
  readonly problems: readonly string[];
}

/** Reads offered files and computes their digests; a file with unchanged time and size is not read again. */
export function createHostFileReader(): (
  offer: OfferedFiles,
  signal: AbortSignal,
) => Promise<HostFilesFound> {
  let known = new Map<string, { readonly version: string; readonly digest: string }>();

  return async (offer, signal) => {
    const files = new Map<string, HostFile>();
    const problems = [...offer.problems];
    const seen: typeof known = new Map();
    for (const file of offer.files) {
      signal.throwIfAborted();
      const skip = (reason: string) =>
        void problems.push(`${JSON.stringify(file.targetPath)} is not copied to the host: ${reason}.`);
      const problem = findPathProblem(file.targetPath);
      if (problem !== undefined || files.has(file.targetPath)) {
        skip(problem ?? "two files have this name");
        continue;
      }
      const found = await unlessMissing(lstat(file.hostPath, { bigint: true }));
      if (found === undefined) continue;
      if (!found.isFile() || found.size >= MAX_BYTES) {
        skip(found.isFile() ? "it is too large" : "it is not a regular file");
        continue;
      }
      const version = `${found.mtimeNs} ${found.size} ${found.ino}`;
      const last = known.get(file.hostPath);
      const digest = last?.version === version ? last.digest : await digestOf(file.hostPath, signal);
      seen.set(file.hostPath, { version, digest });
      const modifiedSeconds = Math.max(0, Math.floor(Number(found.mtimeMs) / 1_000));
      files.set(file.targetPath, { ...file, digest, size: Number(found.size), modifiedSeconds });
    }
    known = seen;
    return { files, problems };
  };
}

/** Opens a file without following a link, and without blocking on a FIFO that replaced the file. */
export function openHostFile(path: string): Promise<FileHandle> {
  return open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
}

async function digestOf(path: string, signal: AbortSignal): Promise<string> {
  const hash = createHash("sha256");
  const file = await openHostFile(path);
  for await (const chunk of file.createReadStream({ signal })) hash.update(chunk);
  return hash.digest("hex");
}
