import { spawn } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { AppError } from "../../lib/errors.ts";
import type { CommandContext } from "../context.ts";
import { runAtTerminal } from "../terminal/run-at-terminal.ts";
import { runEditor } from "../terminal/run-editor.ts";

/**
 * Runs a command of the command line in a process of its own, without a terminal, and returns what it has printed when it
 * ended or was stopped by the signal.
 */
export async function captureCommand(
  words: readonly string[],
  variables: NodeJS.ProcessEnv,
  signal: AbortSignal,
): Promise<string[]> {
  const entry = process.argv[1] ?? "";
  const child = spawn(process.execPath, [entry, ...words], {
    env: variables,
    stdio: ["ignore", "pipe", "pipe"],
  });
  let text = "";
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding("utf8").on("data", (part: string) => {
      text += part;
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
  }
  return text.trim() === "" ? [] : text.trimEnd().split("\n");
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
