import { waitAtMost } from "../../lib/wait-at-most.ts";
import { SHELL_ARGUMENTS } from "../channel/driver.ts";
import { type RunningShell, type ShellCommand, startShell } from "../channel/start-shell.ts";
import type { Engine } from "./engine.ts";
import type { SandboxSpec } from "./sandbox-spec.ts";

const CLOSE_WITHIN_MS = 2_000;

/** The command line of a shell in a container. */
export function shellIn({ binary, env }: Engine, container: string): ShellCommand {
  return { argv: [binary, "exec", "-i", container, "sh", ...SHELL_ARGUMENTS], env };
}

/** A shell that waits in a sandbox for its first line, while others find out whether that sandbox may be used. */
export interface EarlyShell extends AsyncDisposable {
  /** The shell if it still waits, for one caller, who then owns it. */
  take(): RunningShell | undefined;
}

/**
 * Starts a shell in the container that has the sandbox's name, if there is one: to look at it first would double the
 * time that a single command takes. The shell is told nothing until somebody has looked. Undefined where even an idle
 * shell would change what is found: it would hold a sandbox that is to be replaced when nobody uses it.
 */
export function startEarlyShell(
  engine: Engine,
  { name, onDrift, persistAcrossProcesses }: SandboxSpec,
): EarlyShell | undefined {
  if (!persistAcrossProcesses || onDrift === "replace") return undefined;
  let child: RunningShell | undefined = engine.socket?.startShell(name) ?? startShell(shellIn(engine, name));
  const ended = new Promise((resolve) => child?.once("close", resolve));
  child.once("error", () => undefined); // whoever asks the engine next says it better
  child.stdin.on("error", () => undefined);
  return {
    take() {
      const taken = child?.exitCode === null && !child.signalCode ? child : undefined;
      if (taken !== undefined) child = undefined;
      return taken;
    },
    async [Symbol.asyncDispose]() {
      if (child === undefined) return;
      const unused = child;
      child = undefined;
      unused.stdin.end();
      unused.stdout.resume();
      unused.stderr.resume();
      await waitAtMost(CLOSE_WITHIN_MS, ended);
      unused.kill("SIGKILL"); // a client that hangs would keep our process
      unused.stdout.destroy();
      unused.stderr.destroy();
    },
  };
}
