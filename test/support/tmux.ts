import { execFileSync, spawnSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";

export const hasTmux = spawnSync("tmux", ["-V"]).status === 0;

/** A window of a tmux server of its own, with a shell in it. */
export function openTmux(env: Readonly<Record<string, string>>, cwd: string) {
  const server = `hermes-test-${randomBytes(4).toString("hex")}`;
  const config = join(cwd, "tmux.conf");
  writeFileSync(config, "set -g history-limit 20000\n");
  const tmux = (...args: readonly string[]): string =>
    execFileSync("tmux", ["-u", "-L", server, "-f", config, ...args], {
      encoding: "utf8",
      env: { LC_ALL: "C.UTF-8", ...env },
      cwd,
    });
  tmux("new-session", "-d", "-x", "80", "-y", "24", "/bin/sh");
  tmux("set", "-g", "window-size", "manual"); // tmux 3.3 crashes if this is set before its first session
  const screen = (): string => tmux("capture-pane", "-p", "-J", "-S", "-").trimEnd();
  return {
    screen,
    type: (text: string) => void tmux("send-keys", "-l", text),
    press: (key: string) => void tmux("send-keys", key),
    resize: (columns: number, rows: number) =>
      void tmux("resize-window", "-x", `${columns}`, "-y", `${rows}`),
    tmux,
    async shows(text: string | RegExp): Promise<void> {
      await expect.poll(screen, { message: `the window shows ${text}` }).toMatch(text);
    },
    [Symbol.dispose]() {
      tmux("kill-server");
    },
  };
}
