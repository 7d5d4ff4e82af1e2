import { spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, mkdirSync, openSync } from "node:fs";
import { dirname } from "node:path";
import type { Readable } from "node:stream";
import { openDeadline } from "../../lib/deadline.ts";
import { errnoOf, messageOf } from "../../lib/errors.ts";
import type { StartResult } from "../dispatcher/host.ts";
import { endProcesses } from "./end-processes.ts";
import { runProcesses } from "./process-table.ts";
import { runMark, SUPERVISOR_MARK } from "./run-mark.ts";
import { type OrderAnswer, orderAnswerSchema, type RunOrder } from "./run-order.ts";

/** Number of the descriptor over which a supervisor answers its order. */
export const ANSWER_PIPE = 3;
const LONGEST_ANSWER = 64 * 1024;

type Failed = Extract<StartResult, { kind: "failed" }>;

/**
 * Starts a supervisor in a session of its own and waits until it has answered. The order goes through its standard
 * input, so that nobody reads the token in a process list. After a failure nothing of the run lives.
 */
export async function startSupervisor(
  program: readonly [string, ...string[]],
  order: RunOrder,
  variables: Readonly<Record<string, string>>,
  signal: AbortSignal,
): Promise<{ readonly kind: "started"; readonly supervisorPid: number } | Failed> {
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
  stdin?.on("error", () => stdin.destroy()); // one that dies at once has its answer in the log
  stdin?.end(JSON.stringify(order));
  using deadline = openDeadline(signal, order.run.leaseMs / 2);
  let failure: Failed;
  try {
    const answer = await readAnswer(pipe, deadline.signal);
    if (answer.ok) return { kind: "started", supervisorPid: answer.supervisorPid };
    const cause = answer.isInfrastructure ? "infrastructure" : "spawn";
    failure = { kind: "failed", cause, error: answer.error };
  } catch (error) {
    failure = { kind: "failed", cause: "infrastructure", error: `no supervisor: ${messageOf(error)}` };
  } finally {
    pipe.destroy();
    stdin?.destroy();
  }
  await endProcesses({ variable: SUPERVISOR_MARK, mark, group: () => (isOver(child) ? undefined : pid) }, 0);
  await endProcesses(runProcesses(mark), 0);
  return failure;
}

function isOver({ exitCode, signalCode }: { exitCode: number | null; signalCode: string | null }): boolean {
  return exitCode !== null || signalCode !== null;
}

async function readAnswer(pipe: Readable, signal: AbortSignal): Promise<OrderAnswer> {
  const stop = (): void => void pipe.destroy(signal.reason instanceof Error ? signal.reason : undefined);
  signal.addEventListener("abort", stop, { once: true });
  try {
    let text = "";
    for await (const chunk of pipe) {
      text += String(chunk);
      if (text.includes("\n")) return orderAnswerSchema.parse(JSON.parse(text.split("\n", 1)[0] ?? ""));
      if (text.length > LONGEST_ANSWER) break;
    }
    throw new Error("it ended without an answer; its log may say why");
  } finally {
    signal.removeEventListener("abort", stop);
  }
}
