import { createHash } from "node:crypto";
import { type HostFile, openHostFile } from "./host-files.ts";

const BLOCK = 512;

/** A member whose content is a text of ours. */
export interface TextMember {
  readonly name: string;
  readonly text: string;
}

/**
 * A tar archive that every tar can read, because it holds nothing but regular files with short plain names: the files as
 * 1, 2, 3 and so on, then the texts. What they are called in truth, the texts say.
 */
export async function* createArchive(
  files: readonly HostFile[],
  texts: readonly TextMember[],
): AsyncGenerator<Uint8Array, void, undefined> {
  for (const [index, file] of files.entries()) {
    yield header(`${index + 1}`, file.mode, file.size, file.modifiedSeconds);
    yield* contentOf(file);
    yield padding(file.size);
  }
  for (const { name, text } of texts) {
    const bytes = Buffer.from(text, "utf8");
    yield Buffer.concat([header(name, 0o600, bytes.length, 0), bytes, padding(bytes.length)]);
  }
  yield Buffer.alloc(2 * BLOCK);
}

/** Exactly the bytes that the digest was made of, or a throw: then the archive has no end and counts for nothing. */
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

function padding(size: number): Buffer {
  return Buffer.alloc((BLOCK - (size % BLOCK)) % BLOCK);
}

/** The header of POSIX 1003.1-1988 (ustar), which no tar that is in use fails to read. */
function header(name: string, mode: number, size: number, modifiedSeconds: number): Buffer {
  const block = Buffer.alloc(BLOCK);
  const octal = (value: number, at: number, digits: number) =>
    block.write(`${value.toString(8).padStart(digits, "0")}\0`, at, "ascii");
  block.write(name, 0, "ascii");
  octal(mode, 100, 7);
  octal(0, 108, 7);
  octal(0, 116, 7);
  octal(size, 124, 11);
  octal(modifiedSeconds, 136, 11);
  block.fill(" ", 148, 156);
  block.write("0", 156, "ascii");
  block.write("ustar\x0000", 257, "ascii");
  const sum = block.reduce((total, byte) => total + byte, 0);
  block.write(`${sum.toString(8).padStart(6, "0")}\0 `, 148, "ascii");
  return block;
}
