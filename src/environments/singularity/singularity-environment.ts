import { messageOf } from "../../lib/errors.ts";
import { SHELL_ARGUMENTS } from "../channel/driver.ts";
import { createShell } from "../channel/shell.ts";
import { LAST_USE_FILE } from "../docker/last-use.ts";
import type { Environment } from "../environment.ts";
import type { Reporter } from "../environment-request.ts";
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
  const notices: string[] = [];
  // Notices go with the next result, so that the reader of the result has them; progress cannot wait.
  const tell: Reporter = {
    onProgress: (text) => reporter.onProgress(text),
    onNotice: (text) => void notices.push(text),
  };
  let current: Promise<Instance> | undefined;
  let known: Instance | undefined;

  /** One look-up at a time, however many channels are being opened. */
  async function ensure(anew: boolean, signal: AbortSignal): Promise<void> {
    if (anew) current = undefined;
    current ??= ensureInstance(builder, spec, tell, signal);
    const attempt = current;
    try {
      const found = await attempt;
      if (known !== undefined && known.pid !== found.pid) {
        tell.onNotice("The instance was gone and is a new one now: its processes are lost.");
      }
      known = found;
    } catch (error) {
      if (current === attempt) current = undefined; // the next one tries from scratch
      throw error;
    }
  }

  const shell = createShell({
    cwd: spec.workingFolder,
    async transport(anew, signal) {
      await ensure(anew, signal);
      const entry = ["exec", ...entryFlags(spec), "--pwd", "/", `instance://${spec.name}`];
      return {
        argv: [engine.binary, ...entry, "sh", ...SHELL_ARGUMENTS],
        env: engine.env,
        // The program sets HOME to that of our own machine, which is not there.
        prelude: `export HOME=/root; unset PROMPT_COMMAND; __h_stamp=${LAST_USE_FILE}; : > ${LAST_USE_FILE}`,
      };
    },
    variables: () => spec.forwardedVariables,
    async explainLoss(signal) {
      current = undefined;
      const found = await findInstance(engine, spec.name, signal).catch(() => "unreachable" as const);
      if (found === "unreachable") return `${engine.binary} does not answer`;
      return found === undefined || found.pid !== known?.pid ? "the instance was stopped" : undefined;
    },
    takeNotices: () => notices.splice(0),
  });

  /** The last one to leave an instance that keeps no files ends it; one that keeps them stays. */
  async function leave(): Promise<void> {
    if (known === undefined || spec.overlayFolder !== undefined) return;
    known = undefined;
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
