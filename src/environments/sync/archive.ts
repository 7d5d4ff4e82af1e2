import { createHash } from "node:crypto";
import { BLOCK_BYTES, formatHeader, padding } from "../files/copy/tar-header.ts";
import { type HostFile, openHostFile } from "./host-files.ts";

/**
 * Creates a tar archive for any tar program: only regular files with short plain names. Files are named 1, 2, 3 and so on;
 * the named texts follow and contain the real names of the files.
 */
export async function* createArchive(
  files: readonly HostFile[],
  texts: Readonly<Record<string, string>>,
): AsyncGenerator<Uint8Array, void, undefined> {
  for (const [index, file] of files.entries()) {
    const { mode, size, modifiedSeconds } = file;
    yield formatHeader({ name: `${index + 1}`, mode, size, modifiedSeconds });
    yield* contentOf(file);
    yield Buffer.alloc(padding(size));
  }
  for (const [name, text] of Object.entries(texts)) {
    const bytes = Buffer.from(text, "utf8");
    yield formatHeader({ name, mode: 0o600, size: bytes.length });
    yield Buffer.concat([bytes, Buffer.alloc(padding(bytes.length))]);
  }
  yield Buffer.alloc(2 * BLOCK_BYTES);
}

/** Yields exactly the bytes that match the digest, or throws: the receiver ignores an archive without an end. */
async function* contentOf({ hostPath, size, digest }: HostFile): AsyncGenerator<Uint8Array, void, undefined> {
  const file = await openHostFile(hostPath);
  try {
    const hash = createHash("sha256");
    if (size > 0) {
      for await (const chunk of file.createReadStream({ end: size - 1, autoClose: false })) {
        hash.update(chunk);
        yield chunk;
      }
    }
    if (hash.digest("hex") !== digest) throw new Error(`${hostPath} changed while it was copied`);
  } finally {
    await file.close();
  }
}
