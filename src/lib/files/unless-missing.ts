import { readdir, stat } from "node:fs/promises";
import { errnoOf } from "../errors.ts";

/** The result of a file operation, or undefined when the path does not exist. */
export async function unlessMissing<Result>(operation: Promise<Result>): Promise<Result | undefined> {
  try {
    return await operation;
  } catch (error) {
    if (errnoOf(error) === "ENOENT") return undefined;
    throw error;
  }
}

/** The names in a folder; empty when it does not exist. */
export async function listNames(folder: string): Promise<string[]> {
  return (await unlessMissing(readdir(folder))) ?? [];
}

/** Whether a path exists; a path below a file does not. */
export async function exists(path: string): Promise<boolean> {
  try {
    return (await unlessMissing(stat(path))) !== undefined;
  } catch (error) {
    if (errnoOf(error) === "ENOTDIR") return false;
    throw error;
  }
}
