import { createHash } from "node:crypto";
import { constants, type FileHandle, lstat, open } from "node:fs/promises";
import { errnoOf } from "../../lib/errors.ts";
import type { ManifestEntry } from "./manifest.ts";
import { findPathProblem, type Offer, type OfferedFile } from "./offered-file.ts";

/** The header of an archive has room for sizes below this. */
const LARGEST_BYTES = 8 * 1024 ** 3;

/** An offered file as it is now. */
export interface HostFile extends OfferedFile, ManifestEntry {
  readonly digest: string;
  readonly size: number;
  readonly modifiedSeconds: number;
}

export interface HostFilesFound {
  readonly files: ReadonlyMap<string, HostFile>;
  /** What is left out and why, in sentences. */
  readonly problems: readonly string[];
}

/** Looks at offered files and makes their digests; one whose time and size are as before is not read again. */
export function createHostFiles(): {
  look(offer: Offer, signal: AbortSignal): Promise<HostFilesFound>;
} {
  let known = new Map<string, { readonly version: string; readonly digest: string }>();

  return {
    async look(offer, signal) {
      const files = new Map<string, HostFile>();
      const problems = [...offer.problems];
      const seen: typeof known = new Map();
      for (const file of offer.files) {
        signal.throwIfAborted();
        const leaveOut = (why: string) =>
          void problems.push(`${JSON.stringify(file.targetPath)} is not copied to the host: ${why}.`);
        const problem = findPathProblem(file.targetPath);
        if (problem !== undefined || files.has(file.targetPath)) {
          leaveOut(problem ?? "two files have that name");
          continue;
        }
        const found = await unlessMissing(lstat(file.hostPath, { bigint: true }));
        if (found === undefined) continue;
        if (!found.isFile() || found.size >= LARGEST_BYTES) {
          leaveOut(found.isFile() ? "it is too large" : "it is not a regular file");
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
    },
  };
}

/** Never through a link, and never waiting for the other end of a FIFO that has taken the file's place. */
export function openHostFile(path: string): Promise<FileHandle> {
  return open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
}

async function digestOf(path: string, signal: AbortSignal): Promise<string> {
  const hash = createHash("sha256");
  const file = await openHostFile(path);
  for await (const chunk of file.createReadStream({ signal })) hash.update(chunk);
  return hash.digest("hex");
}

async function unlessMissing<T>(reading: Promise<T>): Promise<T | undefined> {
  try {
    return await reading;
  } catch (error) {
    if (errnoOf(error) === "ENOENT") return undefined;
    throw error;
  }
}
