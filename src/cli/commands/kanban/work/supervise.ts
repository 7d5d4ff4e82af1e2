import { writeSync } from "node:fs";
import type { OrderAnswer, RunOrder } from "../../../../board/worker/run-order.ts";
import { AppError, errnoOf, messageOf } from "../../../../lib/errors.ts";
import type { CommandContext } from "../../../context.ts";

/** The process that looks after one run. A dispatcher starts it, gives its order on standard input, and may then end. */
export async function supervise({ signal, exit }: CommandContext): Promise<void> {
  const [{ superviseRun }, { runOrderSchema }, { ANSWER_PIPE }] = await Promise.all([
    import("../../../../board/worker/supervise-run.ts"),
    import("../../../../board/worker/run-order.ts"),
    import("../../../../board/worker/start-supervisor.ts"),
  ]);
  const answer = (text: OrderAnswer): void => {
    try {
      writeSync(ANSWER_PIPE, `${JSON.stringify(text)}\n`);
    } catch (error) {
      // Whoever started us is gone; the run goes on without it.
      if (!["EPIPE", "EBADF"].includes(errnoOf(error) ?? "")) throw error;
    }
  };
  try {
    const order = runOrderSchema.parse(JSON.parse(await readInput()));
    await superviseRun(order, reclaimSandboxes, (pids) => answer({ ok: true, ...pids }), signal);
  } catch (error) {
    // A board that went away while it was asked is not the task's fault.
    const isInfrastructure = error instanceof AppError && error.code.startsWith("database-");
    answer({ ok: false, error: messageOf(error), isInfrastructure });
    exit(1);
  }
}

async function reclaimSandboxes({ run, worker }: RunOrder, signal: AbortSignal): Promise<readonly string[]> {
  const { environmentFacts, openApp } = await import("../../../../app.ts");
  const { env: variables, cwd } = worker;
  const userHome = variables["HOME"] ?? cwd;
  const app = await openApp({ profile: run.profile, settings: new Map(), variables, userHome });
  const { lookAfterAbandoned } = await import("../../../../environments/open-environment.ts");
  const news: string[] = [];
  const reporter = { onNotice: (text: string) => void news.push(text), onProgress: () => undefined };
  const facts = environmentFacts(app, { cwd, variables, userHome, reporter });
  // As its workers have them: each has a sandbox of its own, which ends with it.
  const options = { ...facts.options, docker_persist_across_processes: false };
  await lookAfterAbandoned({ ...facts, options, task: run.taskId }, signal);
  return news;
}

async function readInput(): Promise<string> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of process.stdin) chunks.push(chunk as Uint8Array);
  return Buffer.concat(chunks).toString("utf8");
}
