import { writeSync } from "node:fs";
import type { OrderAnswer } from "../../../../board/worker/run-order.ts";
import { errnoOf, messageOf } from "../../../../lib/errors.ts";
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
    answer({ ok: false, error: messageOf(error) });
    exit(1);
  }
}

async function readInput(): Promise<string> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of process.stdin) chunks.push(chunk as Uint8Array);
  return Buffer.concat(chunks).toString("utf8");
}
