import { writeSync } from "node:fs";
import { text } from "node:stream/consumers";
import { reclaimSandboxesOfRun } from "../../../../app/environments/leftover-sandboxes.ts";
import type { OrderAnswer } from "../../../../board/worker/run-order.ts";
import { AppError, errnoOf, messageOf } from "../../../../lib/errors.ts";
import type { CommandContext } from "../../../context.ts";

/** The supervisor process of one run. The dispatcher starts it, writes the order to its stdin, and may then exit. */
export async function supervise({ signal, exit }: CommandContext): Promise<void> {
  const [{ superviseRun }, { parseRunOrder }, { ANSWER_PIPE }] = await Promise.all([
    import("../../../../board/supervisor/supervise-run.ts"),
    import("../../../../board/worker/run-order.ts"),
    import("../../../../board/supervisor/start-supervisor.ts"),
  ]);
  const answer = (words: OrderAnswer): void => {
    try {
      writeSync(ANSWER_PIPE, `${JSON.stringify(words)}\n`);
    } catch (error) {
      // The dispatcher has exited; the run continues without it.
      if (!["EPIPE", "EBADF"].includes(errnoOf(error) ?? "")) throw error;
    }
  };
  try {
    const order = parseRunOrder(await text(process.stdin));
    await superviseRun(order, reclaimSandboxesOfRun, (pids) => answer({ ok: true, ...pids }), signal);
  } catch (error) {
    // A database that became unavailable is not a failure of the task.
    const isInfrastructure = error instanceof AppError && error.code.startsWith("database-");
    answer({ ok: false, error: messageOf(error), isInfrastructure });
    exit(1);
  }
}
