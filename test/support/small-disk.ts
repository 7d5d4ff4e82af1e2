import { execFile } from "node:child_process";
import { closeSync, openSync, rmSync, writeSync } from "node:fs";
import { mkdtemp, rmdir } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";

const run = promisify(execFile);

/** A file system of a few megabytes that a test can fill. */
export interface SmallDisk extends AsyncDisposable {
  /** Fills it to the last byte. */
  fill(): void;
  free(): void;
}

/** Mounts a small disk at an existing folder; needs `mayMount`. */
export async function mountSmallDisk(folder: string, bytes: number): Promise<SmallDisk> {
  await run("mount", ["-t", "tmpfs", "-o", `size=${bytes},mode=700`, "tmpfs", folder]);
  const filling = join(folder, "fill");
  return {
    fill() {
      const file = openSync(filling, "a");
      for (const size of [1_000_000, 4_096, 1]) while (writes(file, size));
      closeSync(file);
    },
    free: () => rmSync(filling),
    [Symbol.asyncDispose]: async () => void (await run("umount", ["-l", folder])),
  };
}

function writes(file: number, size: number): boolean {
  try {
    return writeSync(file, Buffer.alloc(size)) === size;
  } catch {
    return false;
  }
}

/** Whether this process may mount: it is root, and not in a container that forbids it. */
export async function mayMount(): Promise<boolean> {
  const folder = await mkdtemp(join(tmpdir(), "hermes-test-"));
  try {
    await (await mountSmallDisk(folder, 65_536))[Symbol.asyncDispose]();
    return true;
  } catch {
    return false;
  } finally {
    await rmdir(folder);
  }
}
