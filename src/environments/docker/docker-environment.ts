import { systemClock } from "../../lib/clock.ts";
import type { Transport } from "../channel/channel.ts";
import { createShell } from "../channel/shell.ts";
import type { Environment } from "../environment.ts";
import type { Reporter } from "../environment-request.ts";
import { createNoticeBox } from "../notice-box.ts";
import { createOneLookup } from "../one-lookup.ts";
import { findContainer } from "./container.ts";
import { type EarlyShell, shellIn } from "./early-shell.ts";
import type { Engine } from "./engine.ts";
import { type EnsuredSandbox, ensureSandbox } from "./ensure-sandbox.ts";
import { LAST_USE_FILE } from "./last-use.ts";
import { releaseSandbox } from "./release-sandbox.ts";
import { listSandboxProcesses } from "./sandbox-processes.ts";
import type { SandboxSpec } from "./sandbox-spec.ts";
import { findDrift } from "./spec-fields.ts";

export interface DockerPlace {
  readonly engine: Engine;
  readonly spec: SandboxSpec;
  readonly sandboxesFolder: string;
  readonly reporter: Reporter;
  /** A shell on its way, for the first command; undefined where there is no hurry. */
  readonly early?: EarlyShell | undefined;
  /** Asked at the end: whether to remove the container, unless somebody still uses it, in whatever process. */
  readonly mayRemove?: () => boolean;
}

const KILL_WITHIN_MS = 5_000;
const UNUSED_WITHIN_MS = 6_000;
const LOOK_PAUSE_MS = 100;
/** The engine may still call a sandbox running whose processes have just been ended. */
const ENDING_MS = 1_000;

/** Commands in a container that outlives us: found again by its name, made when it is missing. */
export function openDockerEnvironment(place: DockerPlace): Environment {
  const { engine, spec, sandboxesFolder, reporter, early, mayRemove = () => false } = place;
  const { tell, take } = createNoticeBox(reporter);
  const sandbox = createOneLookup<EnsuredSandbox>(
    (signal) => ensureSandbox(engine, spec, tell, signal),
    ({ id }, before) => {
      if (before === undefined || before.id === id) return;
      tell.onNotice(
        `The sandbox was gone and is a new one now (${id.slice(0, 12)}): its processes are lost.`,
      );
    },
  );

  /** Whether nothing but the keeper runs in it. Our own shells may take a moment to end; a doubt counts as use. */
  async function isUnused(): Promise<boolean> {
    if (sandbox.known === undefined) return false;
    const signal = AbortSignal.timeout(UNUSED_WITHIN_MS);
    try {
      for (;;) {
        const processes = await listSandboxProcesses(engine, sandbox.known.id, signal);
        if (processes === undefined) return false;
        if (processes.every(({ role }) => role === "keeper")) return true;
        await systemClock.sleep(LOOK_PAUSE_MS, signal);
      }
    } catch (error) {
      if (signal.aborted) return false;
      throw error;
    }
  }

  const shell = createShell({
    cwd: spec.workingFolder,
    async transport(anew, signal): Promise<Transport> {
      const { id, how } = await sandbox.ensure(anew, signal);
      return {
        ...shellIn(engine, id),
        // Only in a sandbox that was running all along can a shell be that was started before it was looked at.
        started: how === "attached" && !anew ? early?.take() : undefined,
        prelude: `__h_stamp=${LAST_USE_FILE}; : > ${LAST_USE_FILE}`,
      };
    },
    async isThere(signal) {
      const found = spec.persistAcrossProcesses ? await findContainer(engine, spec.name, signal) : undefined;
      return found?.state === "running" && findDrift(found, spec).length === 0;
    },
    variables: () => Object.fromEntries(spec.forwardedVariables),
    // With all capabilities dropped, root in the container may not signal another user's processes.
    async killAs(user, pids, signal) {
      if (sandbox.known === undefined) return;
      const kill = [
        "exec",
        "--user",
        String(user),
        sandbox.known.id,
        "sh",
        "-c",
        'kill -KILL "$@"',
        "sh",
        ...pids.map(String),
      ];
      await engine.run(kill, { timeoutMs: KILL_WITHIN_MS }, signal);
    },
    async isHalted(signal) {
      const found = await findContainer(engine, sandbox.known?.id ?? spec.name, signal).catch(
        () => undefined,
      );
      if (found?.state !== "paused") return false;
      tell.onNotice(`The sandbox ${found.name} is paused, so nothing in it can be ended until it goes on.`);
      return true;
    },
    async explainLoss(signal) {
      sandbox.forget();
      const look = () =>
        findContainer(engine, sandbox.known?.id ?? spec.name, signal).catch(() => "unreachable" as const);
      const endingUntil = performance.now() + ENDING_MS;
      let found = await look();
      while (typeof found === "object" && found.state === "running" && performance.now() < endingUntil) {
        await systemClock.sleep(LOOK_PAUSE_MS, signal).catch(() => undefined); // the next look tells that, too
        found = await look();
      }
      if (found === "unreachable") return "the container engine does not answer";
      if (found === undefined || found.state === "removing") return "the sandbox was removed";
      return found.state === "running" ? undefined : `the sandbox is ${found.state}`;
    },
    takeNotices: take,
  });

  return {
    openSession: shell.openSession,
    warm: shell.warm,
    run: shell.run,
    get busy() {
      return shell.busy;
    },
    async [Symbol.asyncDispose]() {
      await Promise.all([early?.[Symbol.asyncDispose](), shell[Symbol.asyncDispose]()]);
      const force = mayRemove() && (await isUnused());
      await releaseSandbox(
        engine,
        sandbox.known?.id,
        spec,
        { force, sandboxesFolder, now: Date.now() },
        tell,
      );
    },
  };
}
