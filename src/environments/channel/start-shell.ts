import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";

/** The command line that starts a shell somewhere. */
export interface ShellCommand {
  readonly argv: readonly [string, ...string[]];
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd?: string;
}

/** Starts it in a session of its own: Ctrl-C in our terminal is ours to handle, and must not reach the shell first. */
export function startShell({ argv, env, cwd }: ShellCommand): ChildProcessWithoutNullStreams {
  const [program, ...args] = argv;
  return spawn(program, args, { cwd, env, stdio: "pipe", detached: true });
}
