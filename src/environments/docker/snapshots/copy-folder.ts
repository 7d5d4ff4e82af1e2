import { lstat } from "node:fs/promises";
import { AppError } from "../../../lib/errors.ts";
import { type ProcessResult, runProcess } from "../../../lib/process.ts";
import type { Engine } from "../engine.ts";

const COPY_TIMEOUT_MS = 30 * 60 * 1_000;
const LOOK_TIMEOUT_MS = 60_000;

/** Shares the blocks where the file system can, and never follows a link. */
const COPY = process.platform === "linux" ? ["cp", "-a", "--reflink=auto"] : ["cp", "-a"];

/** Copies a folder with owners, modes, times and links as they are to a path that does not exist yet. */
export async function copyFolder(
  { env }: Engine,
  from: string,
  to: string,
  signal: AbortSignal,
): Promise<void> {
  const result = await tool(env, [...COPY, "--", from, to], COPY_TIMEOUT_MS, signal);
  if (result.exitCode === 0) return;
  throw new AppError("file-unwritable", `Cannot copy ${from}: ${lastLine(result)}`);
}

/**
 * Whether a copy of ours can be true: there is such a folder, not a link, and all in it is ours, so that nothing is
 * unreadable and no owner is lost. Root may always.
 */
export async function canCopy({ env }: Engine, folder: string, signal: AbortSignal): Promise<boolean> {
  if (!(await lstat(folder).catch(() => undefined))?.isDirectory()) return false;
  const uid = process.geteuid?.();
  if (uid === 0) return true;
  const foreign = ["find", folder, "!", "-user", String(uid), "-print", "-prune"];
  const result = await tool(env, foreign, LOOK_TIMEOUT_MS, signal);
  return result.exitCode === 0 && result.stdout === "";
}

/** The disk that a folder takes; 0 when it cannot be measured. */
export async function sizeOf({ env }: Engine, folder: string, signal: AbortSignal): Promise<number> {
  const result = await tool(env, ["du", "-sk", "--", folder], LOOK_TIMEOUT_MS, signal);
  return Number(/^\d+/.exec(result.stdout)?.[0] ?? 0) * 1_024;
}

function tool(
  env: Engine["env"],
  [program = "", ...args]: readonly string[],
  timeoutMs: number,
  signal: AbortSignal,
): Promise<ProcessResult> {
  return runProcess(
    [program, ...args],
    { env: { ...env, LC_ALL: "C" }, timeoutMs, maxOutputBytes: 64 * 1_024 },
    signal,
  );
}

function lastLine({ stderr, timedOut, exitCode }: ProcessResult): string {
  if (timedOut) return "it took too long";
  return stderr.trim().split("\n").at(-1) || `exit code ${exitCode}`;
}
