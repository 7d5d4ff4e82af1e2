import { constants } from "node:fs";
import { lstat, open, readdir, readlink } from "node:fs/promises";
import { join } from "node:path";
import type { createSkipList, HostPath } from "./copy-outcome.ts";
import { BLOCK, formatHeader, padding, type TarEntry } from "./tar-header.ts";

const CHUNK_BYTES = 256 * 1024;

export interface PackProgress {
  files: number;
  bytes: number;
  readonly skipped: ReturnType<typeof createSkipList>;
}

/**
 * An archive of a folder as `content/…`, followed by an empty file `end`: who finds that one has got everything. Links stay
 * links; sockets, FIFOs and devices are left out.
 */
export async function* packFolder(root: HostPath, progress: PackProgress): AsyncGenerator<Uint8Array> {
  yield* packEntry(root, "content", progress);
  yield formatHeader(entryOf("end", { type: "file", mode: 0o600 }));
  yield Buffer.alloc(BLOCK * 2);
}

async function* packEntry(path: HostPath, name: string, progress: PackProgress): AsyncGenerator<Uint8Array> {
  const stats = await lstat(path);
  const common = { mode: stats.mode & 0o777, modifiedSeconds: stats.mtimeMs / 1_000 };
  if (stats.isDirectory()) {
    // Its own mode may keep even us from filling it; whoever unpacks sets it when all is there.
    yield formatHeader(entryOf(`${name}/`, { ...common, type: "folder" }));
    for (const child of (await readdir(path)).toSorted()) {
      yield* packEntry(join(path, child), `${name}/${child}`, progress);
    }
  } else if (stats.isSymbolicLink()) {
    yield formatHeader(entryOf(name, { ...common, type: "symlink", linkName: await readlink(path) }));
  } else if (stats.isFile()) {
    yield* packFile(path, name, progress);
  } else progress.skipped.add(name.slice("content/".length));
}

async function* packFile(path: HostPath, name: string, progress: PackProgress): AsyncGenerator<Uint8Array> {
  await using file = await openSource(path);
  const { size, mode, mtimeMs } = file.stats;
  yield formatHeader(
    entryOf(name, { type: "file", mode: mode & 0o777, size, modifiedSeconds: mtimeMs / 1_000 }),
  );
  for await (const chunk of file.read(size)) {
    progress.bytes += chunk.length;
    yield chunk;
  }
  progress.files++;
  yield Buffer.alloc(padding(size));
}

/** The file shrank while it was read. */
export class SourceChanged extends Error {
  override readonly name = "SourceChanged";
}

/** A regular file of ours: what was one a moment ago and is a link or FIFO now is not opened. */
export async function openSource(path: HostPath) {
  const handle = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  return {
    stats: await handle.stat(),
    /** Exactly so many bytes, or it throws: the length was told before. */
    async *read(size: number): AsyncGenerator<Uint8Array> {
      for (let left = size; left > 0; ) {
        const buffer = Buffer.allocUnsafe(Math.min(CHUNK_BYTES, left));
        const { bytesRead } = await handle.read(buffer, 0, buffer.length, null);
        if (bytesRead === 0) throw new SourceChanged(`${path} became shorter while it was read`);
        left -= bytesRead;
        yield buffer.subarray(0, bytesRead);
      }
    },
    [Symbol.asyncDispose]: () => handle.close(),
  };
}

function entryOf(name: string, known: Partial<TarEntry>): TarEntry {
  return { name, type: "file", mode: 0o644, size: 0, linkName: "", modifiedSeconds: 0, ...known };
}
