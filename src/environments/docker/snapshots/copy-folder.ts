import { lstat } from "node:fs/promises";
import { AppError } from "../../../lib/errors.ts";
import { type ProcessResult, runProcess } from "../../../lib/process/process.ts";
import type { Engine } from "../engine/engine.ts";

const COPY_TIMEOUT_MS = 30 * 60 * 1_000;
const READ_TIMEOUT_MS = 60_000;

/** Shares blocks where the file system supports it, and never follows links. */
const COPY = process.platform === "linux" ? ["cp", "-a", "--reflink=auto"] : ["cp", "-a"];

/** Copies a folder to a new path and preserves owners, modes, times and links. */
export async function copyFolder(
  { env }: Engine,
  from: string,
  to: string,
  signal: AbortSignal,
): Promise<void> {
  const result = await runTool(env, [...COPY, "--", from, to], COPY_TIMEOUT_MS, signal);
  if (result.exitCode === 0) return;
  throw new AppError("file-unwritable", `Cannot copy ${from}: ${lastLine(result)}`);
}

/**
 * Whether our process can copy the folder faithfully: it is a folder and not a link, and we own all of its files, so
 * that all are readable and no owner is lost. Root can copy every folder.
 */
export async function canCopyFaithfully(
  { env }: Engine,
  folder: string,
  signal: AbortSignal,
): Promise<boolean> {
  if (!(await lstat(folder).catch(() => undefined))?.isDirectory()) return false;
  const uid = process.geteuid?.();
  if (uid === 0) return true;
  const foreign = ["find", folder, "!", "-user", String(uid), "-print", "-prune"];
  const result = await runTool(env, foreign, READ_TIMEOUT_MS, signal);
  return result.exitCode === 0 && result.stdout === "";
}

/** Measures the disk usage of a folder; 0 when that fails. */
export async function measureFolder({ env }: Engine, folder: string, signal: AbortSignal): Promise<number> {
  const result = await runTool(env, ["du", "-sk", "--", folder], READ_TIMEOUT_MS, signal);
  return Number(/^\d+/.exec(result.stdout)?.[0] ?? 0) * 1_024;
}

function runTool(
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
