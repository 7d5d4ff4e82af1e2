import { stat } from "node:fs/promises";
import { basename, join, posix } from "node:path";
import { openNotifyingEnvironment } from "../../../app/environments/sandbox.ts";
import type { CompletedCopy, CopyProblem } from "../../../environments/files/copy/copy-outcome.ts";
import {
  createEnvironmentFiles,
  type EnvironmentFiles,
} from "../../../environments/files/environment-files.ts";
import { AppError, errnoOf } from "../../../lib/errors.ts";
import type { CommandContext } from "../../context.ts";
import { formatBytes } from "../../terminal/format-bytes.ts";
import { createSandboxRequest } from "./sandbox-context.ts";

interface CopyCommandOptions {
  readonly task: string;
  readonly json?: boolean;
}

const SANDBOX_MARK = ":";
const PROGRESS_EVERY_MS = 1_000;

/** Copies a file or folder between this machine and the sandbox; the path with the colon is in the sandbox. */
export async function copyBetween(
  context: CommandContext,
  source: string,
  destination: string,
  { task, json }: CopyCommandOptions,
): Promise<void> {
  const { terminal, signal } = context;
  const isIn = destination.startsWith(SANDBOX_MARK);
  if (isIn === source.startsWith(SANDBOX_MARK)) {
    throw new AppError("usage-wrong", "Exactly one of the two paths must be in the sandbox.", {
      hint: "Prefix the sandbox path with a colon: `hermes sandbox cp ./a :/workspace/a`.",
    });
  }
  const from = isIn ? source : source.slice(SANDBOX_MARK.length);
  const to = isIn ? destination.slice(SANDBOX_MARK.length) : destination;
  if (from === "" || to === "") throw new AppError("usage-wrong", "A path is empty.");

  const { request } = await createSandboxRequest(context, task);
  await using environment = await openNotifyingEnvironment(request, signal);
  const files = createEnvironmentFiles(environment, environment.openSession());
  using progress = showProgress((text) => terminal.note(text));
  const options = { onBytes: progress.add };
  const outcome = isIn
    ? await files.copyIn(from, await insideSandbox(files, from, to, signal), options, signal)
    : await files.copyOut(from, await insideHost(from, to), options, signal);
  if (outcome.kind !== "copied") throw failure(outcome, isIn);
  report(context, outcome, json ?? false);
}

/** As with cp, the copy goes into the destination if that is an existing folder or ends with a slash. */
async function insideSandbox(
  files: EnvironmentFiles,
  from: string,
  to: string,
  signal: AbortSignal,
): Promise<string> {
  const found = to.endsWith("/") || (await files.stat(to, signal));
  const isFolder = found === true || (found.kind === "found" && found.type === "folder");
  return isFolder ? posix.join(to, nameOf(from)) : to;
}

async function insideHost(from: string, to: string): Promise<string> {
  return to.endsWith("/") || (await isFolder(to)) ? join(to, nameOf(from)) : to;
}

async function isFolder(path: string): Promise<boolean> {
  try {
    return (await stat(path)).isDirectory();
  } catch (error) {
    if (errnoOf(error) !== undefined) return false; // the copy itself reports the error
    throw error;
  }
}

function nameOf(path: string): string {
  const name = basename(path);
  if (name === "" || name === "." || name === ".." || name === "~") {
    throw new AppError("usage-wrong", `The name of the copy cannot be derived from ${path}.`, {
      hint: "Give the full destination, including the new name.",
    });
  }
  return name;
}

function failure({ kind, side, message, hint }: CopyProblem, isIn: boolean): AppError {
  const where = side === "environment" ? "In the sandbox: " : "";
  const code =
    kind === "unavailable"
      ? "sandbox-unavailable"
      : (side === "host") === isIn
        ? "file-unreadable"
        : "file-unwritable";
  return new AppError(code, `${where}${message}`, { hint });
}

function report({ terminal }: CommandContext, { kind: _, ...copied }: CompletedCopy, json: boolean): void {
  const { files, bytes, path, skipped, skippedNames } = copied;
  if (skipped > 0) {
    const more = skipped > skippedNames.length ? ", …" : "";
    terminal.note(
      `hermes: skipped ${skipped} (special files, or links that point outside): ${skippedNames.join(", ")}${more}`,
    );
  }
  if (json) terminal.printJson(copied);
  else terminal.note(`Copied ${files} ${files === 1 ? "file" : "files"}, ${formatBytes(bytes)}, to ${path}.`);
}

/** Prints the progress every second after the first byte, if it has changed. */
function showProgress(note: (text: string) => void): Disposable & { add(count: number): void } {
  let bytes = 0;
  let printed = "";
  let timer: NodeJS.Timeout | undefined;
  const print = (): void => {
    const words = formatBytes(bytes);
    if (words !== printed) note(`hermes: ${words} copied so far`);
    printed = words;
  };
  return {
    add(count) {
      bytes += count;
      timer ??= setInterval(print, PROGRESS_EVERY_MS);
    },
    [Symbol.dispose]: () => clearInterval(timer),
  };
}
