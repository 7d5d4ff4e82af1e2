import { readdir } from "node:fs/promises";
import { errnoOf } from "../../lib/errors.ts";

/** What a folder holds; nothing when it is not there. */
export async function namesIn(folder: string): Promise<string[]> {
  try {
    return await readdir(folder);
  } catch (error) {
    if (errnoOf(error) === "ENOENT") return [];
    throw error;
  }
}
