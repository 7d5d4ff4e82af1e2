import { messageOf } from "../../lib/errors.ts";
import { SHELL_ARGUMENTS } from "../channel/driver.ts";
import { createShell } from "../channel/shell.ts";
import { LAST_USE_FILE } from "../docker/last-use.ts";
import type { Environment } from "../environment.ts";
import type { Reporter } from "../environment-request.ts";
import { createNoticeBox } from "../notice-box.ts";
import { createOneLookup } from "../one-lookup.ts";
import { ensureInstance, whileNobodyElse } from "./ensure-instance.ts";
import { entryFlags, findInstance, type Instance, lookInto, stopInstance } from "./instance.ts";
import type { ImageBuilder } from "./instance-image.ts";
import type { InstanceSpec } from "./instance-spec.ts";

export interface SingularityPlace extends ImageBuilder {
  readonly spec: InstanceSpec;
  readonly reporter: Reporter;
}

const LEAVE_WITHIN_MS = 60_000;

/** Commands in an instance that can outlive us: found again by its name, started when it is missing. */
export function openSingularityEnvironment({ spec, reporter, ...builder }: SingularityPlace): Environment {
  const { engine } = builder;
  const { tell, take } = createNoticeBox(reporter);
  const instance = createOneLookup<Instance>(
    (signal) => ensureInstance(builder, spec, tell, signal),
    ({ pid }, before) => {
      if (before === undefined || before.pid === pid) return;
      tell.onNotice("The instance was gone and is a new one now: its processes are lost.");
    },
  );

  let hasLeft = false;
  const shell = createShell({
    cwd: spec.workingFolder,
    async transport(anew, signal) {
      await instance.ensure(anew, signal);
      const entry = ["exec", ...entryFlags(spec), "--pwd", "/", `instance://${spec.name}`];
      return {
        argv: [engine.binary, ...entry, "sh", ...SHELL_ARGUMENTS],
        env: engine.env,
        // The program sets HOME to that of our own machine, which is not there.
        prelude: `export HOME=/root; unset PROMPT_COMMAND; __h_stamp=${LAST_USE_FILE}; : > ${LAST_USE_FILE}`,
      };
    },
    isThere: async (signal) => spec.isShared && (await findInstance(engine, spec.name, signal)) !== undefined,
    variables: () => spec.forwardedVariables,
    async explainLoss(signal) {
      instance.forget();
      const found = await findInstance(engine, spec.name, signal).catch(() => "unreachable" as const);
      if (found === "unreachable") return `${engine.binary} does not answer`;
      return found === undefined || found.pid !== instance.known?.pid
        ? "the instance was stopped"
        : undefined;
    },
    takeNotices: take,
  });

  /** The last one to leave an instance that keeps no files ends it; one that keeps them stays. */
  async function leave(): Promise<void> {
    if (hasLeft || instance.known === undefined || spec.overlayFolder !== undefined) return;
    hasLeft = true;
    const signal = AbortSignal.timeout(LEAVE_WITHIN_MS);
    const stop = (): Promise<string | undefined> => stopInstance(engine, spec.name, signal);
    const stopUnlessHeld = async (): Promise<string | undefined> =>
      (await lookInto(engine, spec, signal))?.isHeld === false ? stop() : undefined; // a doubt counts as held
    const stopping = spec.isShared ? whileNobodyElse(spec, stopUnlessHeld, signal) : stop();
    const complaint = await stopping.catch(messageOf);
    if (complaint === undefined) return;
    reporter.onNotice(
      `The instance ${spec.name} could not be stopped: ${complaint}. Do it with \`${engine.binary} instance stop ${spec.name}\`.`,
    );
  }

  return {
    openSession: shell.openSession,
    warm: shell.warm,
    run: shell.run,
    get busy() {
      return shell.busy;
    },
    async [Symbol.asyncDispose]() {
      await shell[Symbol.asyncDispose]();
      await leave();
    },
  };
}
