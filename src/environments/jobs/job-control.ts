import { AppError } from "../../lib/errors.ts";
import type { CommandResult, Environment } from "../environment.ts";
import { controlCommand } from "./job-programs.ts";

export interface ControlRequest {
  readonly fields: readonly (string | number)[];
  readonly stdin?: string | Uint8Array;
  readonly timeoutMs?: number;
}

export type Control = ReturnType<typeof createControl>;

const TIMEOUT_MS = 10_000;

/** Runs our programs in an environment, each in a fresh session. */
export function createControl(environment: Environment) {
  /** Returns the result however the program ended. */
  async function tryRun(
    program: string,
    { fields, stdin, timeoutMs = TIMEOUT_MS }: ControlRequest,
    signal: AbortSignal,
  ): Promise<CommandResult & { readonly output: Buffer }> {
    const chunks: Buffer[] = [];
    const result = await environment.run(
      {
        command: controlCommand(program, fields),
        session: environment.openSession(),
        workdir: "/", // always exists, unlike the default folder of commands
        timeoutMs,
        stdin,
        onOutput: (stream, bytes) => void (stream === "stdout" && chunks.push(Buffer.from(bytes))),
      },
      signal,
    );
    return { ...result, output: Buffer.concat(chunks) };
  }
  return {
    tryRun,
    /** Returns its stdout; throws `job-unreachable` if the program did not exit by itself. */
    async run(program: string, request: ControlRequest, signal: AbortSignal): Promise<Buffer> {
      const result = await tryRun(program, request, signal);
      if (result.ended === "exited") return result.output;
      signal.throwIfAborted();
      throw new AppError("job-unreachable", `the environment did not answer: ${result.notices.join(" ")}`);
    },
  };
}
