import { execFileSync } from "node:child_process";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { IPty } from "@lydell/node-pty";
import { Terminal } from "@xterm/headless";
import { expect } from "vitest";
import { ENTRY } from "./built-program.ts";
import { spawnInPty } from "./pty.ts";
import { tempFolder } from "./temp-folder.ts";

/** A home whose model answers from a script, and windows to chat in. `entry`: the program, by default the built one. */
export async function openChatHome(
  answers: readonly object[],
  more: Readonly<Record<string, string>> = {},
  entry: string = ENTRY,
) {
  const folder = await tempFolder();
  const script = join(folder.path, "script.json");
  await writeFile(script, JSON.stringify({ context_tokens: 100_000, answers }));
  const env = {
    PATH: process.env["PATH"] ?? "",
    HOME: folder.path,
    HERMES_HOME: folder.path,
    HERMES_MODEL_PROVIDER: "scripted",
    HERMES_MODEL_DEFAULT: script,
    HERMES_APPROVALS_MODE: "manual",
    TERM: "xterm-256color",
    ...more,
  };
  return {
    path: folder.path,
    env,
    start: (args: readonly string[] = [], size?: { cols: number; rows: number }, variables = {}) =>
      startChat([entry, ...args], { ...env, ...variables }, folder.path, size),
    [Symbol.asyncDispose]: () => folder[Symbol.asyncDispose](),
  };
}

function startChat(
  words: readonly string[],
  env: Record<string, string>,
  cwd: string,
  { cols, rows } = { cols: 80, rows: 24 },
) {
  const terminal = new Terminal({ cols, rows, scrollback: 10_000, allowProposedApi: true });
  const script = 'before=$(stty -g); "$@"; echo "code=$?"; [ "$before" = "$(stty -g)" ] && echo same modes';
  const child = spawnInPty([process.execPath, ...words], { env, cwd, cols, rows, script });
  let bytes = "";
  child.onData((text) => {
    bytes += text;
    terminal.write(text);
  });
  const screen = (): string => {
    const { active } = terminal.buffer;
    let text = "";
    for (let index = 0; index < active.length; index++) {
      const line = active.getLine(index);
      text += `${line?.isWrapped || index === 0 ? "" : "\n"}${line?.translateToString(true) ?? ""}`;
    }
    return text.trimEnd();
  };
  const pid = (): number => {
    const found = execFileSync("ps", ["-o", "pid=", "--ppid", `${child.pid}`], { encoding: "utf8" });
    return Number(found.trim().split("\n")[0]);
  };
  return {
    screen,
    bytes: () => bytes,
    type: (keys: string) => child.write(keys),
    pid,
    kill(signal: NodeJS.Signals = "SIGKILL") {
      process.kill(pid(), signal);
    },
    /** Closes the window, as a person or a lost connection does. */
    hangUp() {
      (child as IPty & { destroy(): void }).destroy();
    },
    resize(width: number, height: number) {
      child.resize(width, height);
      terminal.resize(width, height);
    },
    async shows(text: string | RegExp): Promise<void> {
      await expect.poll(screen, { message: `the terminal shows ${text}` }).toMatch(text);
    },
    [Symbol.dispose]() {
      child.kill("SIGKILL");
      terminal.dispose();
    },
  };
}
