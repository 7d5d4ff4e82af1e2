import { type ChildProcess, type SpawnOptions, spawn } from "node:child_process";

/** The signals that Ctrl-C and Ctrl-\ send to every process in the foreground. */
const KEY_SIGNALS = ["SIGINT", "SIGQUIT"] as const;

/** Resolves with the exit code of a program that has the terminal for itself; undefined if a signal ended it. */
export async function runAtTerminal(
  [command, ...args]: readonly [string, ...string[]],
  options: Pick<SpawnOptions, "env"> & {
    /** Its standard input; by default the terminal. */
    readonly input?: string;
  },
  signal: AbortSignal,
): Promise<number | undefined> {
  signal.throwIfAborted();
  using _ = leaveKeySignalsToChild();
  const { env = process.env, input } = options;
  const child: ChildProcess = spawn(command, args, {
    env,
    stdio: [input === undefined ? "inherit" : "pipe", "inherit", "inherit"],
  });
  child.stdin?.on("error", () => undefined); // the user may quit a pager before it has read everything
  child.stdin?.end(input);
  const stop = (): void => void child.kill();
  signal.addEventListener("abort", stop, { once: true });
  try {
    return await new Promise<number | undefined>((resolve, reject) => {
      child.once("error", reject);
      child.once("close", (code) => resolve(code ?? undefined));
    });
  } finally {
    signal.removeEventListener("abort", stop);
  }
}

/** Ctrl-C ends a search in a pager or the insert mode of an editor. It must not end the process that waits for that program. */
function leaveKeySignalsToChild(): Disposable {
  const ignore = (): void => undefined;
  const restores = KEY_SIGNALS.map((name) => {
    const listeners = process.listeners(name);
    process.on(name, ignore); // first, so that the signal has a listener at every moment
    for (const listener of listeners) process.off(name, listener);
    return () => {
      for (const listener of listeners) process.on(name, listener);
      process.off(name, ignore);
    };
  });
  return {
    [Symbol.dispose]() {
      for (const restore of restores) restore();
    },
  };
}
