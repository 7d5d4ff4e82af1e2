import { waitAtMost } from "../../../lib/time/wait-at-most.ts";
import { type RunningShell, type ShellCommand, startShell } from "../../channel/start-shell.ts";
import { channelCommand } from "../lifecycle/keeper.ts";
import { loadRecords } from "../lifecycle/sandbox-record.ts";
import type { SandboxSpec } from "../spec/sandbox-spec.ts";
import { type Engine, engineAddress } from "./engine.ts";

const CLOSE_WITHIN_MS = 2_000;

/** The command line of a shell in a container. */
export function containerShell({ binary, env }: Engine, container: string): ShellCommand {
  return { argv: [binary, "exec", "-i", container, ...channelCommand()], env };
}

/** An idle shell in a sandbox, started before it is known whether that sandbox may be used. */
export interface EarlyShell extends AsyncDisposable {
  /** Hands the shell over to the caller, once; undefined when it runs in another container or has exited. */
  take(container: string): RunningShell | undefined;
}

/**
 * Starts a shell in the container that is recorded as the sandbox of the task, if there is exactly one. The container is
 * chosen by its id, because a name can move to a container of another program at any time. Inspecting the container first would
 * double the time of a single command; the shell gets no input until the container has been inspected. Returns
 * undefined in `replace` mode, because the idle shell would count as use and keep the sandbox from being replaced.
 */
export async function startEarlyShell(engine: Engine, spec: SandboxSpec): Promise<EarlyShell | undefined> {
  if (!spec.persistAcrossProcesses || spec.onDrift === "replace") return undefined;
  const id = await findRecordedId(engine, spec);
  if (id === undefined) return undefined;
  let child: RunningShell | undefined =
    engine.socket?.startShell(id) ?? startShell(containerShell(engine, id));
  const ended = new Promise((resolve) => child?.once("close", resolve));
  child.once("error", () => undefined); // the next call of the engine reports the error better
  child.stdin.on("error", () => undefined);
  return {
    take(container) {
      const taken = container === id && child?.exitCode === null && !child.signalCode ? child : undefined;
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
      unused.kill("SIGKILL"); // a client that hangs would keep our process alive
      unused.stdout.destroy();
      unused.stderr.destroy();
    },
  };
}

async function findRecordedId(engine: Engine, spec: SandboxSpec): Promise<string | undefined> {
  const address = engineAddress(engine);
  const all = await loadRecords(spec);
  const [only, ...others] = all.filter(({ task, engine: at }) => task === spec.task && at === address);
  return others.length === 0 ? only?.id : undefined;
}
