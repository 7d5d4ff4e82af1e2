import { spawn } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { CommandContext } from "../context.ts";
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
export async function runInTerminal(words: readonly string[], variables: NodeJS.ProcessEnv): Promise<void> {
  const child = spawn(process.execPath, [process.argv[1] ?? "", ...words], {
    env: variables,
    stdio: "inherit",
  });
  await new Promise<void>((resolve, reject) => {
    child.once("error", reject);
    child.once("close", () => resolve());
  });
}

/** Shows a text in the user's pager. The terminal must have been lent. */
export async function pageText(text: string, variables: NodeJS.ProcessEnv): Promise<void> {
  const pager = variables["PAGER"] || "less -R";
  const child = spawn("/bin/sh", ["-c", pager], { stdio: ["pipe", "inherit", "inherit"], env: variables });
  child.stdin.on("error", () => undefined); // the user may leave the pager before its end
  child.stdin.end(text);
  await new Promise<void>((resolve) => child.once("close", () => resolve()));
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
