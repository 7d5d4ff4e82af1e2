import { spawn } from "node:child_process";
import type { Readable, Writable } from "node:stream";

/** A shell that was started somewhere: by a process of ours, or by a container engine that passes its streams on to us. */
export interface RunningShell {
  readonly stdin: Writable;
  readonly stdout: Readable;
  readonly stderr: Readable;
  /** Of our process, if there is one. */
  readonly pid?: number | undefined;
  readonly exitCode: number | null;
  readonly signalCode?: string | null;
  kill(signal: "SIGKILL"): unknown;
  /** Ends its input and does not wait until it has ended; only of a shell that somebody else looks after. */
  leave?(): Promise<unknown>;
  once(event: "error", listener: (error: Error) => void): unknown;
  once(event: "exit" | "close", listener: (code: number | null, signal: string | null) => void): unknown;
}

/** The command line that starts a shell somewhere. */
export interface ShellCommand {
  readonly argv: readonly [string, ...string[]];
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd?: string;
}

/** Starts it in a session of its own: Ctrl-C in our terminal is ours to handle, and must not reach the shell first. */
export function startShell({ argv, env, cwd }: ShellCommand): RunningShell {
  const [program, ...args] = argv;
  return spawn(program, args, { cwd, env, stdio: "pipe", detached: true });
}
