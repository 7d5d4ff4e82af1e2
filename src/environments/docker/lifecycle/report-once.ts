import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { errnoOf } from "../../../lib/errors.ts";
import { ensurePrivateFolder } from "../../../lib/files/files.ts";
import type { Reporter } from "../../environment-request.ts";
import { digestOf } from "../spec/sandbox-names.ts";

/** Prints a notice that holds for every sandbox below this folder, only once for all processes. */
export async function reportOnce(folder: string, text: string, { onNotice }: Reporter): Promise<void> {
  await ensurePrivateFolder(folder);
  try {
    const path = join(folder, `.told-${digestOf(text).slice(0, 12)}`);
    await writeFile(path, "", { flag: "wx", mode: 0o600 });
  } catch (error) {
    if (errnoOf(error) === "EEXIST") return;
    throw error;
  }
  onNotice(text);
}
