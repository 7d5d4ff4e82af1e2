import { AppError } from "../../lib/errors.ts";
import type { CommandResult, Environment } from "../environment.ts";
import { controlCommand } from "./job-programs.ts";

export interface ControlRequest {
  readonly fields: readonly (string | number)[];
  readonly stdin?: string | Uint8Array;
  readonly timeoutMs?: number;
}

/** Runs one of our programs in an environment, in a session of nobody. */
export interface Control {
  /** Its output as bytes; throws `job-unreachable` when the environment did not let it end. */
  run(program: string, request: ControlRequest, signal: AbortSignal): Promise<Buffer>;
  /** The same, however it ends. */
  tryRun(
    program: string,
    request: ControlRequest,
    signal: AbortSignal,
  ): Promise<CommandResult & { readonly output: Buffer }>;
}

const TIMEOUT_MS = 10_000;

export function createControl(environment: Environment): Control {
  const tryRun: Control["tryRun"] = async (program, { fields, stdin, timeoutMs = TIMEOUT_MS }, signal) => {
    const chunks: Buffer[] = [];
    const result = await environment.run(
      {
        command: controlCommand(program, fields),
        session: environment.openSession(),
        workdir: "/", // always there, while the folder where commands start may be gone
        timeoutMs,
        stdin,
        onOutput: (stream, bytes) => void (stream === "stdout" && chunks.push(Buffer.from(bytes))),
      },
      signal,
    );
    return { ...result, output: Buffer.concat(chunks) };
  };
  return {
    tryRun,
    async run(program, request, signal) {
      const result = await tryRun(program, request, signal);
      if (result.ended === "exited") return result.output;
      signal.throwIfAborted();
      throw new AppError("job-unreachable", `the environment did not answer: ${result.notices.join(" ")}`);
    },
  };
}
