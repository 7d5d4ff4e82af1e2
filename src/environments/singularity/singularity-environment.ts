import { messageOf } from "../../lib/errors.ts";
import { SHELL_ARGUMENTS } from "../channel/driver.ts";
import { createShell } from "../channel/shell.ts";
import { LAST_USE_FILE } from "../docker/lifecycle/last-use.ts";
import type { Environment } from "../environment.ts";
import type { Reporter } from "../environment-request.ts";
import { createNoticeBuffer } from "../notice-buffer.ts";
import { createSharedLookup } from "../shared-lookup.ts";
import { ensureInstance, withInstanceLock } from "./ensure-instance.ts";
import { entryFlags, findInstance, type Instance, inspectInstance, stopInstance } from "./instance.ts";
import type { ImageBuilder } from "./instance-image.ts";
import type { InstanceSpec } from "./instance-spec.ts";

export interface SingularityEnvironmentOptions extends ImageBuilder {
  readonly spec: InstanceSpec;
  readonly reporter: Reporter;
}

const RELEASE_WITHIN_MS = 60_000;

/** Runs commands in an instance that can outlive this process: found by its name, started if it is missing. */
export function openSingularityEnvironment({
  spec,
  reporter,
  ...builder
}: SingularityEnvironmentOptions): Environment {
  const { engine } = builder;
  const { reporter: noticeReporter, take } = createNoticeBuffer(reporter);
  const instance = createSharedLookup<Instance>(
    (signal) => ensureInstance(builder, spec, noticeReporter, signal),
    ({ pid }, before) => {
      if (before === undefined || before.pid === pid) return;
      noticeReporter.onNotice(
        "The instance had been stopped, so a new one was started; the processes of the old one are lost.",
      );
    },
  );

  return createShell({
    cwd: spec.workingFolder,
    async transport(isRetry, signal) {
      await instance.ensure(isRetry, signal);
      const entry = ["exec", ...entryFlags(spec), "--pwd", "/", `instance://${spec.name}`];
      return {
        argv: [engine.binary, ...entry, "sh", ...SHELL_ARGUMENTS],
        env: engine.env,
        // The program sets HOME to the host's home folder, which does not exist in the instance.
        prelude: `export HOME=/root; unset PROMPT_COMMAND; __h_stamp=${LAST_USE_FILE}; : > ${LAST_USE_FILE}`,
      };
    },
    isReady: async (signal) => spec.isShared && (await findInstance(engine, spec.name, signal)) !== undefined,
    variables: () => spec.forwardedVariables,
    async explainLoss(signal) {
      instance.forget();
      const found = await findInstance(engine, spec.name, signal).catch(() => "unreachable" as const);
      if (found === "unreachable") return `${engine.binary} does not answer`;
      return found === undefined || found.pid !== instance.lastFound?.pid
        ? "the instance was stopped"
        : undefined;
    },
    takeNotices: take,
    release,
  });

  /** Stops an instance without persistent files unless another process holds it; other instances keep running. */
  async function release(): Promise<void> {
    if (instance.lastFound === undefined || spec.overlayFolder !== undefined) return;
    const signal = AbortSignal.timeout(RELEASE_WITHIN_MS);
    const stop = (): Promise<string | undefined> => stopInstance(engine, spec.name, signal);
    const stopUnlessHeld = async (): Promise<string | undefined> =>
      (await inspectInstance(engine, spec, signal))?.isHeld === false ? stop() : undefined; // no answer counts as held
    const stopping = spec.isShared ? withInstanceLock(spec, stopUnlessHeld, signal) : stop();
    const complaint = await stopping.catch(messageOf);
    if (complaint === undefined) return;
    reporter.onNotice(
      `The instance ${spec.name} could not be stopped: ${complaint}. Stop it with \`${engine.binary} instance stop ${spec.name}\`.`,
    );
  }
}
