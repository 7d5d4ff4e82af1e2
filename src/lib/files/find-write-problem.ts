import { open, rm } from "node:fs/promises";
import { join } from "node:path";
import { messageOf } from "../errors.ts";

const PROBE_BYTES = 65_536;

/** Why nothing can be written to a folder now, such as a full disk or a spent quota; undefined if it can be. */
export async function findWriteProblem(folder: string): Promise<string | undefined> {
  const path = join(folder, `.space-${process.pid}`);
  try {
    await using file = await open(path, "w", 0o600);
    await file.writeFile(Buffer.alloc(PROBE_BYTES));
    await file.sync();
    return undefined;
  } catch (error) {
    return messageOf(error);
  } finally {
    await rm(path, { force: true }).catch(() => undefined);
  }
}
