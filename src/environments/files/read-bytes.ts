import { createHash } from "node:crypto";
import type { TargetPath } from "../environment.ts";
import { createFileProblem, type FileProblem } from "./file-problem.ts";
import { BYTES_SCRIPT } from "./file-scripts.ts";
import type { RunFileScript } from "./run-file-script.ts";

export interface FileBytes {
  readonly kind: "bytes";
  readonly path: TargetPath;
  readonly bytes: Uint8Array;
  /** SHA-256 in hex, for `expected` of a write. */
  readonly digest: string;
}

export interface FileStats {
  readonly size: number;
  /** Permission bits, e.g. 0o644. */
  readonly mode: number;
  readonly uid: number;
  readonly gid: number;
  /** Whole seconds: not every `stat` reports fractions. */
  readonly modifiedMs: number;
}

/** Reads the whole file, or returns `too-large` after at most `maxBytes` + 1 bytes were sent. */
export async function readFileBytes(
  run: RunFileScript,
  path: TargetPath,
  maxBytes: number,
  signal: AbortSignal,
): Promise<FileBytes | FileProblem> {
  const result = await run({ script: BYTES_SCRIPT, path, args: [`${maxBytes}`] }, signal);
  if (result.kind !== "done") return result;
  const { facts, stdout: bytes } = result;
  if (facts.has("larger")) {
    const { size } = parseFileStats(facts.get("facts"));
    return createFileProblem("too-large", result.path, `${size} bytes; the limit is ${maxBytes}`);
  }
  if (!facts.has("done")) return createFileProblem("incomplete", result.path);
  if (bytes.length > maxBytes)
    return createFileProblem("too-large", result.path, `more than ${maxBytes} bytes`);
  return { kind: "bytes", path: result.path, bytes, digest: digestOf(bytes) };
}

/** Parses the output of `stat`: size, mode in octal, user, group, seconds. */
export function parseFileStats(text = ""): FileStats {
  const [size = "0", mode = "0", uid = "0", gid = "0", seconds = "0"] = text.trim().split(" ");
  return {
    size: Number(size),
    mode: Number.parseInt(mode, 8),
    uid: Number(uid),
    gid: Number(gid),
    modifiedMs: Number(seconds) * 1_000,
  };
}

export function digestOf(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex");
}
