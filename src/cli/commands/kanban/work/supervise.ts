import { writeSync } from "node:fs";
import type { OrderAnswer } from "../../../../board/worker/run-order.ts";
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
    await superviseRun(order, (pids) => answer({ ok: true, ...pids }), signal);
  } catch (error) {
    // A board that went away while it was asked is not the task's fault.
    const isInfrastructure = error instanceof AppError && error.code.startsWith("database-");
    answer({ ok: false, error: messageOf(error), isInfrastructure });
    exit(1);
  }
}

async function readInput(): Promise<string> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of process.stdin) chunks.push(chunk as Uint8Array);
  return Buffer.concat(chunks).toString("utf8");
}
