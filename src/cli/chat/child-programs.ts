import { spawn } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { AppError } from "../../lib/errors.ts";
import type { CommandContext } from "../context.ts";
import { runAtTerminal } from "../terminal/run-at-terminal.ts";
import { runEditor } from "../terminal/run-editor.ts";

/** Lines of a command that arrive together are printed together. */
const GATHER_MS = 200;
const KEPT_LINES = 10_000;

/**
 * Runs a command of the command line in a process of its own, without a terminal, until it ends or is stopped by the signal.
 * Passes on what it prints as it arrives, and returns the end of that.
 */
export async function captureCommand(
  words: readonly string[],
  variables: NodeJS.ProcessEnv,
  signal: AbortSignal,
  onLines: (lines: readonly string[]) => void = () => undefined,
): Promise<readonly string[]> {
  const entry = process.argv[1] ?? "";
  const child = spawn(process.execPath, [entry, ...words], {
    env: variables,
    stdio: ["ignore", "pipe", "pipe"],
  });
  const kept: string[] = [];
  let pending: string[] = [];
  let printing: NodeJS.Timeout | undefined;
  const print = (): void => {
    clearTimeout(printing);
    printing = undefined;
    // Empty lines at the end follow with the next line, if there is one.
    const end = pending.findLastIndex((line) => line.trim() !== "") + 1;
    const lines = pending.slice(0, end);
    pending = pending.slice(end);
    if (lines.length > 0) onLines(lines);
  };
  for (const input of [child.stdout, child.stderr])
    createInterface({ input, crlfDelay: Infinity }).on("line", (line) => {
      if (signal.aborted) return; // its own words about the end are no news
      kept.push(line);
      if (kept.length > KEPT_LINES) kept.shift();
      pending.push(line);
      printing ??= setTimeout(print, GATHER_MS);
    });
  const stop = (): void => void child.kill();
  signal.addEventListener("abort", stop, { once: true });
  try {
    await new Promise<void>((resolve, reject) => {
      child.once("error", reject);
      child.once("close", () => resolve());
    });
  } finally {
    signal.removeEventListener("abort", stop);
    print();
  }
  return kept;
}

/** Runs a command of the command line at the terminal, which must have been lent. */
export async function runInTerminal(words: readonly string[], context: CommandContext): Promise<void> {
  const { variables: env, signal } = context;
  await runAtTerminal([process.execPath, process.argv[1] ?? "", ...words], { env }, signal);
}

/** Shows a text in the user's pager. The terminal must have been lent. */
export async function pageText(text: string, { variables: env, signal }: CommandContext): Promise<void> {
  const pager = env["PAGER"] || "less -R";
  // Without a locale, less would show `→` as bytes.
  const pagerEnv = { LESSCHARSET: "utf-8", ...env };
  const code = await runAtTerminal(["/bin/sh", "-c", pager], { env: pagerEnv, input: text }, signal);
  if (code === 126 || code === 127)
    throw new AppError("process-unstartable", `The pager \`${pager}\` cannot be started.`, {
      hint: "Install less, or set PAGER to a pager that is installed.",
    });
}

/** Lets the user change a text in an editor. The terminal must have been lent. */
export async function editText(text: string, context: CommandContext): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "hermes-draft-"));
  try {
    const path = join(folder, "message.md");
    await writeFile(path, text, { mode: 0o600 });
    await runEditor(path, context);
    return (await readFile(path, "utf8")).trimEnd();
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
