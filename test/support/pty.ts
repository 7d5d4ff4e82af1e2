import { spawnSync } from "node:child_process";
import * as pty from "@lydell/node-pty";
import { expect } from "vitest";
import { ENTRY } from "./built-program.ts";

interface PtyOptions {
  readonly env: Readonly<Record<string, string>>;
  readonly cwd?: string;
  readonly cols?: number;
  readonly rows?: number;
  /** A script for the shell that runs the command `"$@"`. */
  readonly script?: string;
}

/**
 * Runs a command below a shell in a new terminal. The shell prints `code=N` after all output of the command, and then stays
 * until it is killed: node-pty drops what it has not read 200 ms after its process has exited. The trap keeps the shell alive
 * when Ctrl-C arrives as a signal, which goes to every process of the terminal; the command starts with the default action.
 */
export function spawnInPty(command: readonly string[], options: PtyOptions): pty.IPty {
  const { env, script = '"$@"; echo "code=$?"', ...rest } = options;
  const shell = ["-c", `trap : INT; ${script}; exec sleep 3600`, "sh", ...command];
  return pty.spawn("/bin/sh", shell, { cols: 200, rows: 50, ...rest, env: { ...env } });
}

/** The built program in its own terminal. */
export interface TerminalSession extends Disposable {
  /** The output so far. */
  screen(): string;
  /** Waits until the terminal shows a text, after the text that an earlier call has found. */
  shows(text: string | RegExp): Promise<void>;
  type(keys: string): void;
  /** The exit code, once the program and all of its output have ended. */
  exitCode(): Promise<number>;
  /** Closes the terminal and waits until the program has ended. */
  hangUp(): Promise<void>;
}

export async function startInTerminal(
  args: readonly string[],
  { env, cwd }: { readonly env: Readonly<Record<string, string>>; readonly cwd: string },
): Promise<TerminalSession> {
  const child = spawnInPty([process.execPath, ENTRY, ...args], { env, cwd });
  let screen = "";
  let seen = 0;
  child.onData((text: string) => {
    screen += text;
  });
  const shows = async (text: string | RegExp): Promise<void> => {
    const pattern = typeof text === "string" ? new RegExp(text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")) : text;
    await expect.poll(() => screen.slice(seen), { message: `the terminal shows ${text}` }).toMatch(pattern);
    const found = pattern.exec(screen.slice(seen));
    seen += (found?.index ?? 0) + (found?.[0].length ?? 0);
  };
  return {
    screen: () => screen,
    shows,
    type: (keys) => child.write(keys),
    async exitCode() {
      await expect.poll(() => screen).toMatch(/code=\d+/);
      return Number(/code=(\d+)/.exec(screen)?.[1]);
    },
    async hangUp() {
      const list = (...args: string[]): string[] => {
        const { stdout } = spawnSync("ps", ["-o", "pid=,stat=", ...args], { encoding: "utf8" });
        return stdout.split("\n").filter((line) => line.trim() !== "" && !line.includes("Z"));
      };
      const [program = ""] = list("--ppid", `${child.pid}`);
      expect(program).not.toBe("");
      child.kill("SIGHUP"); // the end of the session's leader closes the terminal for the program too
      await expect.poll(() => list("-p", program.trim().split(/\s+/)[0] ?? "")).toEqual([]);
    },
    [Symbol.dispose]() {
      child.kill("SIGKILL");
    },
  };
}
