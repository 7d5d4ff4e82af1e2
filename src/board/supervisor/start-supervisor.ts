import { spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, mkdirSync, openSync } from "node:fs";
import { dirname } from "node:path";
import type { Readable } from "node:stream";
import { errnoOf, messageOf } from "../../lib/errors.ts";
import { openDeadline } from "../../lib/time/deadline.ts";
import type { StartResult } from "../dispatcher/dispatch-host.ts";
import { runMark, SUPERVISOR_MARK } from "../worker/run-mark.ts";
import type { OrderAnswer, RunOrder } from "../worker/run-order.ts";
import { endProcesses } from "./end-processes.ts";
import { runProcesses } from "./process-table.ts";

/** The number of the file descriptor over which a supervisor answers its order. */
export const ANSWER_PIPE = 3;
const LONGEST_ANSWER = 64 * 1024;

type FailedStart = Extract<StartResult, { kind: "failed" }>;

/**
 * Starts a supervisor and waits for its answer. The order goes through standard input, so that the token is not in a
 * process list. After a failure no process of the run is alive.
 */
export async function startSupervisor(
  program: readonly [string, ...string[]],
  order: RunOrder,
  variables: Readonly<Record<string, string>>,
  signal: AbortSignal,
): Promise<{ readonly kind: "started"; readonly supervisorPid: number } | FailedStart> {
  const mark = runMark(order.board, order.run);
  const [file, ...args] = program;
  mkdirSync(dirname(order.log.path), { recursive: true, mode: 0o700 });
  const log = openSync(order.log.path, "a", 0o600);
  const child = spawn(file, [...args, "kanban", "supervise"], {
    cwd: "/",
    env: { ...variables, [SUPERVISOR_MARK]: mark },
    detached: true,
    stdio: ["pipe", "ignore", log, "pipe"],
  });
  closeSync(log);
  const { pid } = child;
  if (pid === undefined) {
    const [failure] = (await once(child, "error")) as unknown[];
    return { kind: "failed", cause: "infrastructure", error: `cannot start ${file}: ${errnoOf(failure)}` };
  }
  child.unref();
  const { stdin } = child;
  const pipe = child.stdio[ANSWER_PIPE] as Readable;
  stdin?.on("error", () => stdin.destroy()); // a supervisor that exits at once writes the reason to the log
  stdin?.end(JSON.stringify(order));
  using deadline = openDeadline(signal, order.run.leaseMs / 2);
  let failure: FailedStart;
  try {
    const answer = await readAnswer(pipe, deadline.signal);
    if (answer.ok) return { kind: "started", supervisorPid: answer.supervisorPid };
    const cause = answer.isInfrastructure ? "infrastructure" : "spawn";
    failure = { kind: "failed", cause, error: answer.error };
  } catch (error) {
    const why = `the supervisor did not start: ${messageOf(error)}`;
    failure = { kind: "failed", cause: "infrastructure", error: why };
  } finally {
    pipe.destroy();
    stdin?.destroy();
  }
  const group = () => (child.exitCode === null && child.signalCode === null ? pid : undefined);
  await endProcesses({ variable: SUPERVISOR_MARK, mark, group }, 0);
  await endProcesses(runProcesses(mark), 0);
  return failure;
}

async function readAnswer(pipe: Readable, signal: AbortSignal): Promise<OrderAnswer> {
  const stop = (): void => void pipe.destroy(signal.reason instanceof Error ? signal.reason : undefined);
  signal.addEventListener("abort", stop, { once: true });
  try {
    let text = "";
    for await (const chunk of pipe) {
      text += String(chunk);
      if (text.includes("\n")) {
        const { orderAnswerSchema } = await import("../worker/run-order.ts"); // loaded late, because most passes start nothing
        return orderAnswerSchema.parse(JSON.parse(text.split("\n", 1)[0] ?? ""));
      }
      if (text.length > LONGEST_ANSWER) break;
    }
    throw new Error("it exited without an answer; its log may contain the reason");
  } finally {
    signal.removeEventListener("abort", stop);
  }
}
