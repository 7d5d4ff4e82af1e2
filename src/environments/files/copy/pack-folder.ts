import { constants } from "node:fs";
import { lstat, open, readdir, readlink } from "node:fs/promises";
import type { createSkipList, HostPath } from "./copy-outcome.ts";
import { BLOCK_BYTES, type ByteString, bytesOf, formatHeader, padding, readableName } from "./tar-header.ts";

const CHUNK_BYTES = 256 * 1024;

export interface PackProgress {
  files: number;
  bytes: number;
  readonly skipped: ReturnType<typeof createSkipList>;
}

/**
 * Packs a folder as `content/…`, followed by an empty file `end`, which shows that the archive is complete. Links stay links;
 * sockets, FIFOs and devices are skipped.
 */
export async function* packFolder(root: HostPath, progress: PackProgress): AsyncGenerator<Uint8Array> {
  yield* packEntry(Buffer.from(root), "content", progress);
  yield formatHeader({ name: "end", mode: 0o600 });
  yield Buffer.alloc(BLOCK_BYTES * 2);
}

async function* packEntry(
  path: Buffer,
  name: ByteString,
  progress: PackProgress,
): AsyncGenerator<Uint8Array> {
  const stats = await lstat(path);
  const common = { mode: stats.mode & 0o777, modifiedSeconds: stats.mtimeMs / 1_000 };
  if (stats.isDirectory()) {
    // The mode may forbid writing into the folder; the unpacker sets it after all entries.
    yield formatHeader({ name: `${name}/`, ...common, type: "folder" });
    for (const child of (await readdir(path, { encoding: "latin1" })).toSorted()) {
      const childPath = Buffer.concat([path, bytesOf(`/${child}`)]);
      yield* packEntry(childPath, `${name}/${child}`, progress);
    }
  } else if (stats.isSymbolicLink()) {
    yield formatHeader({
      name,
      ...common,
      type: "symlink",
      linkName: await readlink(path, { encoding: "latin1" }),
    });
  } else if (stats.isFile()) {
    yield* packFile(path, name, progress);
  } else progress.skipped.add(readableName(name).slice("content/".length));
}

async function* packFile(path: Buffer, name: ByteString, progress: PackProgress): AsyncGenerator<Uint8Array> {
  await using file = await openSource(path);
  const { size, mode, mtimeMs } = file.stats;
  yield formatHeader({ name, mode: mode & 0o777, size, modifiedSeconds: mtimeMs / 1_000 });
  yield* file.read(size, progress);
  progress.files++;
  yield Buffer.alloc(padding(size));
}

/** The file shrank while it was read. */
export class SourceChanged extends Error {
  override readonly name = "SourceChanged";
}

/** Opens a regular file on this machine. A file that was replaced by a link or FIFO meanwhile is not followed. */
export async function openSource(path: HostPath | Buffer) {
  const handle = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  return {
    stats: await handle.stat(),
    /** Yields exactly `size` bytes or throws, because the receiver already knows the length. */
    async *read(size: number, progress: { bytes: number }): AsyncGenerator<Uint8Array> {
      for (let left = size; left > 0; ) {
        const buffer = Buffer.allocUnsafe(Math.min(CHUNK_BYTES, left));
        const { bytesRead } = await handle.read(buffer, 0, buffer.length, null);
        if (bytesRead === 0) throw new SourceChanged(`${path} shrank while it was read`);
        left -= bytesRead;
        progress.bytes += bytesRead;
        yield buffer.subarray(0, bytesRead);
      }
    },
    [Symbol.asyncDispose]: () => handle.close(),
  };
}
