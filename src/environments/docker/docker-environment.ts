import { systemClock } from "../../lib/time/clock.ts";
import type { Transport } from "../channel/channel.ts";
import { createShell } from "../channel/shell.ts";
import type { Environment } from "../environment.ts";
import type { Reporter } from "../environment-request.ts";
import { createNoticeBuffer } from "../notice-buffer.ts";
import { createSharedLookup } from "../shared-lookup.ts";
import { containerShell, type EarlyShell } from "./engine/early-shell.ts";
import type { Engine } from "./engine/engine.ts";
import { listSandboxProcesses } from "./isolation/sandbox-processes.ts";
import { findContainer } from "./lifecycle/container.ts";
import { type EnsuredSandbox, ensureSandbox } from "./lifecycle/ensure-sandbox.ts";
import { LAST_USE_FILE } from "./lifecycle/last-use.ts";
import { releaseSandbox } from "./lifecycle/release-sandbox.ts";
import type { SandboxSpec } from "./spec/sandbox-spec.ts";
import { findDrift } from "./spec/spec-fields.ts";

export interface DockerEnvironmentOptions {
  readonly engine: Engine;
  readonly spec: SandboxSpec;
  readonly reporter: Reporter;
  /** A shell that was started early for the first command, to save time. */
  readonly earlyShell?: EarlyShell | undefined;
  /** Called on disposal: whether to remove the container if no process uses it. */
  readonly mayRemove?: () => boolean;
}

const KILL_WITHIN_MS = 5_000;
const UNUSED_WITHIN_MS = 6_000;
const POLL_MS = 100;
/** How long the engine may still report a sandbox as running after its processes have exited. */
const ENDING_MS = 1_000;

/** Runs commands in a container that survives our process: it is found by its name, or created. */
export function openDockerEnvironment({
  engine,
  spec,
  reporter,
  earlyShell,
  mayRemove = () => false,
}: DockerEnvironmentOptions): Environment {
  const { reporter: noticeReporter, take: takeNotices } = createNoticeBuffer(reporter);
  const sandbox = createSharedLookup<EnsuredSandbox>(
    (signal) => ensureSandbox(engine, spec, noticeReporter, signal),
    ({ id }, before) => {
      if (before === undefined || before.id === id) return;
      noticeReporter.onNotice(
        `The sandbox no longer existed and was replaced by a new one (${id.slice(0, 12)}); its processes are lost.`,
      );
    },
  );

  /** Whether only the keeper runs in the sandbox, after waiting for our own shells to exit; false when that is unknown. */
  async function isUnused(): Promise<boolean> {
    if (sandbox.lastFound === undefined) return false;
    const signal = AbortSignal.timeout(UNUSED_WITHIN_MS);
    try {
      for (;;) {
        const processes = await listSandboxProcesses(engine, sandbox.lastFound.id, signal);
        if (processes === undefined) return false;
        if (processes.every(({ role }) => role === "keeper")) return true;
        await systemClock.sleep(POLL_MS, signal);
      }
    } catch (error) {
      if (signal.aborted) return false;
      throw error;
    }
  }

  return createShell({
    cwd: spec.workingFolder,
    async transport(isRetry, signal): Promise<Transport> {
      const { id, how } = await sandbox.ensure(isRetry, signal);
      return {
        ...containerShell(engine, id),
        // A sandbox that was not running when it was found has no early shell.
        startedShell: how === "attached" && !isRetry ? earlyShell?.take(id) : undefined,
        prelude: `__h_stamp=${LAST_USE_FILE}; : > ${LAST_USE_FILE}`,
      };
    },
    async isReady(signal) {
      const found = spec.persistAcrossProcesses ? await findContainer(engine, spec.name, signal) : undefined;
      return found?.state === "running" && findDrift(found, spec).length === 0;
    },
    variables: () => Object.fromEntries(spec.forwardedVariables),
    // Root in the container has no CAP_KILL, so it cannot signal processes of another user.
    async killAs(user, pids, signal) {
      if (sandbox.lastFound === undefined) return;
      const kill = ["sh", "-c", 'kill -KILL "$@"', "sh", ...pids.map(String)];
      await engine.run(
        ["exec", "--user", String(user), sandbox.lastFound.id, ...kill],
        KILL_WITHIN_MS,
        signal,
      );
    },
    async isPaused(signal) {
      const found = await findContainer(engine, sandbox.lastFound?.id ?? spec.name, signal).catch(
        () => undefined,
      );
      if (found?.state !== "paused") return false;
      noticeReporter.onNotice(
        `The sandbox ${found.name} is paused, so its processes cannot be ended until it is unpaused.`,
      );
      return true;
    },
    async explainLoss(signal) {
      sandbox.forget();
      const poll = () =>
        findContainer(engine, sandbox.lastFound?.id ?? spec.name, signal).catch(() => "unreachable" as const);
      const deadline = performance.now() + ENDING_MS;
      let found = await poll();
      while (typeof found === "object" && found.state === "running" && performance.now() < deadline) {
        await systemClock.sleep(POLL_MS, signal).catch(() => undefined); // the next poll sees the abort
        found = await poll();
      }
      if (found === "unreachable") return "the container engine does not answer";
      if (found === undefined || found.state === "removing") return "the sandbox was removed";
      if (found.state === "exited") return "the sandbox was stopped";
      return found.state === "running" ? undefined : `the sandbox is ${found.state}`;
    },
    takeNotices,
    async release() {
      await earlyShell?.[Symbol.asyncDispose]();
      const force = mayRemove() && (await isUnused());
      await releaseSandbox(engine, sandbox.lastFound?.id, spec, force, noticeReporter);
    },
  });
}
