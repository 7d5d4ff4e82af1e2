import { spawn } from "node:child_process";
import type { Readable, Writable } from "node:stream";

/** A running shell: a child process, or a shell that a container engine runs and whose streams it forwards. */
export interface RunningShell {
  readonly stdin: Writable;
  readonly stdout: Readable;
  readonly stderr: Readable;
  /** The pid of the child process, if there is one. */
  readonly pid?: number | undefined;
  readonly exitCode: number | null;
  readonly signalCode?: string | null;
  kill(signal: "SIGKILL"): unknown;
  /** Closes the shell's input without waiting for its exit; only for a shell that the engine supervises. */
  detach?(): Promise<unknown>;
  once(event: "error", listener: (error: Error) => void): unknown;
  once(event: "exit" | "close", listener: (code: number | null, signal: string | null) => void): unknown;
}

/** The command line that starts a shell. */
export interface ShellCommand {
  readonly argv: readonly [string, ...string[]];
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd?: string;
}

/** Starts the shell in its own session, so that Ctrl-C in our terminal does not reach it. */
export function startShell({ argv, env, cwd }: ShellCommand): RunningShell {
  const [program, ...args] = argv;
  return spawn(program, args, { cwd, env, stdio: "pipe", detached: true });
}
