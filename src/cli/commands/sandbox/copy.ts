import { stat } from "node:fs/promises";
import { basename, join, posix } from "node:path";
import type { Copied, CopyProblem } from "../../../environments/files/copy/copy-outcome.ts";
import {
  createEnvironmentFiles,
  type EnvironmentFiles,
} from "../../../environments/files/environment-files.ts";
import { openEnvironment } from "../../../environments/open-environment.ts";
import { AppError, errnoOf } from "../../../lib/errors.ts";
import type { CommandContext } from "../../context.ts";
import { requestFor } from "./place.ts";

interface CopyCommandOptions {
  readonly task: string;
  readonly json?: boolean;
}

const SANDBOX_MARK = ":";
const PROGRESS_EVERY_MS = 1_000;

/** Copies a file or folder between this machine and the sandbox; the side with the colon is the sandbox's. */
export async function copyBetween(
  context: CommandContext,
  source: string,
  destination: string,
  { task, json }: CopyCommandOptions,
): Promise<void> {
  const { terminal, signal } = context;
  const isIn = destination.startsWith(SANDBOX_MARK);
  if (isIn === source.startsWith(SANDBOX_MARK)) {
    throw new AppError("usage-wrong", "Exactly one of the two paths must be one of the sandbox.", {
      hint: "Put a colon before it: `hermes sandbox cp ./a :/workspace/a`.",
    });
  }
  const from = isIn ? source : source.slice(SANDBOX_MARK.length);
  const to = isIn ? destination.slice(SANDBOX_MARK.length) : destination;
  if (from === "" || to === "") throw new AppError("usage-wrong", "A path is empty.");

  const { request } = await requestFor(context, task);
  await using environment = await openEnvironment(request, signal);
  const files = createEnvironmentFiles(environment, environment.openSession());
  using progress = showProgress((text) => terminal.note(text));
  const options = { onBytes: progress.add };
  const outcome = isIn
    ? await files.copyIn(from, await insideSandbox(files, from, to, signal), options, signal)
    : await files.copyOut(from, await insideHost(from, to), options, signal);
  if (outcome.kind !== "copied") throw failure(outcome, isIn);
  report(context, outcome, json ?? false);
}

/** As cp does: what is copied to a folder that exists, or to a name that ends with a slash, goes into it. */
async function insideSandbox(
  files: EnvironmentFiles,
  from: string,
  to: string,
  signal: AbortSignal,
): Promise<string> {
  const there = to.endsWith("/") || (await files.stat(to, signal));
  const isFolder = there === true || (there.kind === "found" && there.type === "folder");
  return isFolder ? posix.join(to, nameOf(from)) : to;
}

async function insideHost(from: string, to: string): Promise<string> {
  return to.endsWith("/") || (await isFolder(to)) ? join(to, nameOf(from)) : to;
}

async function isFolder(path: string): Promise<boolean> {
  try {
    return (await stat(path)).isDirectory();
  } catch (error) {
    if (errnoOf(error) !== undefined) return false; // the copy itself tells what is wrong with it
    throw error;
  }
}

function nameOf(path: string): string {
  const name = basename(path);
  if (name === "" || name === "." || name === ".." || name === "~") {
    throw new AppError("usage-wrong", `${path} has no name that the copy could have.`, {
      hint: "Say its whole destination, with the new name.",
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

function report({ terminal }: CommandContext, { kind: _, ...copied }: Copied, json: boolean): void {
  const { files, bytes, path, skipped, skippedNames } = copied;
  if (skipped > 0) {
    const more = skipped > skippedNames.length ? ", …" : "";
    terminal.note(
      `hermes: ${skipped} left out (no regular files, or links that lead out): ${skippedNames.join(", ")}${more}`,
    );
  }
  if (json) terminal.printJson(copied);
  else terminal.note(`Copied ${files} ${files === 1 ? "file" : "files"}, ${inWords(bytes)}, to ${path}.`);
}

/** Tells how far it is, every second from the first byte on, as long as it gets further. */
function showProgress(note: (text: string) => void): Disposable & { add(count: number): void } {
  let bytes = 0;
  let told = "";
  let timer: NodeJS.Timeout | undefined;
  const tell = (): void => {
    const words = inWords(bytes);
    if (words !== told) note(`hermes: ${words} copied so far`);
    told = words;
  };
  return {
    add(count) {
      bytes += count;
      timer ??= setInterval(tell, PROGRESS_EVERY_MS);
    },
    [Symbol.dispose]: () => clearInterval(timer),
  };
}

function inWords(bytes: number): string {
  if (bytes < 1_000) return `${bytes} bytes`;
  const units = ["kB", "MB", "GB", "TB"];
  const step = Math.min(units.length, Math.floor(Math.log10(bytes) / 3));
  return `${(bytes / 1_000 ** step).toFixed(1)} ${units[step - 1]}`;
}
