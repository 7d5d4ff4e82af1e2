import { spawnSync } from "node:child_process";
import { expect } from "vitest";
import { ENTRY } from "./built-program.ts";

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
  const { default: pty } = await import("@lydell/node-pty");
  // The shell prints its line after all output of the program. Its trap keeps it alive when Ctrl-C arrives as a signal, which
  // goes to every process of the terminal; the program itself starts with the default action.
  const shell = ["-c", 'trap : INT; "$@"; echo "code=$?"', "sh", process.execPath, ENTRY, ...args];
  const child = pty.spawn("/bin/sh", shell, { env: { ...env }, cwd, cols: 200, rows: 50 });
  let screen = "";
  let seen = 0;
  let hasEnded = false;
  child.onData((text: string) => {
    screen += text;
  });
  child.onExit(() => {
    hasEnded = true;
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
      await expect.poll(() => hasEnded && /code=\d+/.test(screen)).toBe(true);
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
      if (!hasEnded) child.kill("SIGKILL");
    },
  };
}
