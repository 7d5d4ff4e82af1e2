import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { errnoOf } from "../../lib/errors.ts";
import { ensurePrivateFolder } from "../../lib/files.ts";
import type { Reporter } from "../environment-request.ts";
import { digestOf } from "./sandbox-names.ts";

/** Tells a person something that is true of every sandbox below this folder, in the first process that finds out. */
export async function tellOnce(folder: string, text: string, { onNotice }: Reporter): Promise<void> {
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
