import { type Command, InvalidArgumentError } from "commander";
import { withExamples } from "../../../define-command.ts";
import type { Desk, JsonOption } from "../desk.ts";

/** The verbs about dispatching: who starts tasks, and why one does not start. */
export function addDispatch(desk: Desk, add: (name: string, description: string) => Command): void {
  withExamples(
    add("dispatch", "Make one pass: put the board in order and start what may start here.")
      .option("--dry-run", "say what would be done, and change nothing")
      .option("--max <number>", "start no more than this", parseCount)
      .action(async (options: JsonOption & { dryRun?: boolean; max?: number }) => {
        const { dispatchOnce } = await import("./dispatch-once.ts");
        await dispatchOnce(desk, options);
      }),
    ["hermes kanban dispatch --dry-run", "hermes kanban dispatch --max 1 --json"],
  );
  withExamples(
    add("daemon", "Dispatch all boards until it is stopped, at once when something happens.").action(
      async () => {
        const { runDaemon } = await import("./daemon.ts");
        await runDaemon(desk);
      },
    ),
    ["hermes kanban daemon"],
  );
  withExamples(
    add("dispatch-status", "Show who dispatches this board and how the last pass went.").action(
      async (options: JsonOption) => {
        const { showDispatchStatus } = await import("./dispatch-status.ts");
        await showDispatchStatus(desk, options);
      },
    ),
    ["hermes kanban dispatch-status --json"],
  );
  withExamples(
    add("why", "Say why a task is not running, and what would release it.")
      .argument("<task>")
      .action(async (id: string, options: JsonOption) => {
        const { why } = await import("./take-back.ts");
        await why(desk, id, options);
      }),
    ["hermes kanban why 12"],
  );
  withExamples(
    add("unguard", "Let tasks start again at once, in spite of what happened before.")
      .argument("<tasks...>")
      .action(async (ids: readonly string[], options: JsonOption) => {
        const { unguard } = await import("./take-back.ts");
        await unguard(desk, ids, options);
      }),
    ["hermes kanban unguard 12"],
  );
  withExamples(
    add("reassign", "Give a task to another profile; one that runs only with --reclaim.")
      .argument("<task>")
      .argument("<profile>")
      .option("--reclaim", "end its run first, with its processes; needed while it runs")
      .option("--reason <text>", "why its run is ended")
      .action(
        async (id: string, profile: string, options: JsonOption & { reclaim?: boolean; reason?: string }) => {
          const { reassign } = await import("./take-back.ts");
          await reassign(desk, id, profile, options);
        },
      ),
    ["hermes kanban reassign 12 reviewer --reclaim"],
  );
  withExamples(
    add("reclaim", "End the run of tasks with its processes; they go back to where they were claimed.")
      .argument("<tasks...>")
      .option("--reason <text>", "why", "")
      .action(async (ids: readonly string[], options: JsonOption & { reason: string }) => {
        const { reclaim } = await import("./take-back.ts");
        await reclaim(desk, ids, options);
      }),
    ["hermes kanban reclaim 12"],
  );
}

function parseCount(text: string): number {
  const number = Number(text);
  if (!Number.isInteger(number) || number < 0)
    throw new InvalidArgumentError("Give a whole number of at least 0.");
  return number;
}
