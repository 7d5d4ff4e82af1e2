import type { Transport } from "../channel/channel.ts";
import { SHELL_ARGUMENTS } from "../channel/driver.ts";
import { createShell } from "../channel/shell.ts";
import type { Environment } from "../environment.ts";
import type { Reporter } from "../environment-request.ts";
import { findContainer } from "./container.ts";
import type { Engine } from "./engine.ts";
import { type EnsuredSandbox, ensureSandbox } from "./ensure-sandbox.ts";
import { LAST_USE_FILE } from "./last-use.ts";
import { releaseSandbox } from "./release-sandbox.ts";
import type { SandboxSpec } from "./sandbox-spec.ts";

export interface DockerPlace {
  readonly engine: Engine;
  readonly spec: SandboxSpec;
  readonly sandboxesFolder: string;
  readonly reporter: Reporter;
}

const KILL_WITHIN_MS = 5_000;

/** Commands in a container that outlives us: found again by its name, made when it is missing. */
export function openDockerEnvironment({ engine, spec, sandboxesFolder, reporter }: DockerPlace): Environment {
  const notices: string[] = [];
  // Notices go with the next result, so that the reader of the result has them; progress cannot wait.
  const tell: Reporter = {
    onProgress: (text) => reporter.onProgress(text),
    onNotice: (text) => void notices.push(text),
  };
  let current: Promise<EnsuredSandbox> | undefined;
  let known: EnsuredSandbox | undefined;

  /** One look-up at a time, however many channels are being opened. */
  async function ensure(anew: boolean, signal: AbortSignal): Promise<EnsuredSandbox> {
    if (anew) current = undefined;
    current ??= ensureSandbox(engine, spec, tell, signal);
    const attempt = current;
    try {
      const found = await attempt;
      if (known !== undefined && known.id !== found.id) {
        tell.onNotice(
          `The sandbox was gone and is a new one now (${found.id.slice(0, 12)}): its processes are lost.`,
        );
      }
      known = found;
      return found;
    } catch (error) {
      if (current === attempt) current = undefined; // the next one tries from scratch
      throw error;
    }
  }

  const shell = createShell({
    cwd: spec.workingFolder,
    async transport(anew, signal): Promise<Transport> {
      const { id } = await ensure(anew, signal);
      return {
        argv: [engine.binary, "exec", "-i", id, "sh", ...SHELL_ARGUMENTS],
        env: engine.env,
        prelude: `__h_stamp=${LAST_USE_FILE}; : > ${LAST_USE_FILE}`,
      };
    },
    variables: () => Object.fromEntries(spec.forwardedVariables),
    // With all capabilities dropped, root in the container may not signal another user's processes.
    async killAs(user, pids, signal) {
      if (known === undefined) return;
      const kill = [
        "exec",
        "--user",
        String(user),
        known.id,
        "sh",
        "-c",
        'kill -KILL "$@"',
        "sh",
        ...pids.map(String),
      ];
      await engine.run(kill, { timeoutMs: KILL_WITHIN_MS }, signal);
    },
    async explainLoss(signal) {
      current = undefined;
      const found = await findContainer(engine, known?.id ?? spec.name, signal).catch(
        () => "unreachable" as const,
      );
      if (found === "unreachable") return "the container engine does not answer";
      if (found === undefined || found.state === "removing") return "the sandbox was removed";
      return found.state === "running" ? undefined : `the sandbox is ${found.state}`;
    },
    takeNotices: () => notices.splice(0),
  });

  return {
    openSession: shell.openSession,
    run: shell.run,
    get busy() {
      return shell.busy;
    },
    async [Symbol.asyncDispose]() {
      await shell[Symbol.asyncDispose]();
      await releaseSandbox(engine, known?.id, spec, { force: false, sandboxesFolder, now: Date.now() }, tell);
    },
  };
}
