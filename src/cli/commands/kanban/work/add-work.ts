import { type Command, InvalidArgumentError } from "commander";
import { defineCommand, withExamples } from "../../../define-command.ts";
import type { Desk } from "../desk.ts";
import { type LogOptions, showLog } from "./log.ts";
import { supervise } from "./supervise.ts";

/** The verbs about workers: what they print, and the inner one that looks after a run. */
export function addWork(desk: Desk, _: unknown, kanban: Command): void {
  const { terminal } = desk.context;
  const log = defineCommand("log", "Print what the worker of a task has printed in its last run.", terminal)
    .argument("<task>")
    .option("--run <number>", "of another run", parseNumber)
    .option("--tail <bytes>", "only the end of it", parseNumber)
    .option("-f, --follow", "go on as it prints, until the run is over")
    .action((id: string, options: LogOptions) => showLog(desk, id, options));
  kanban.addCommand(withExamples(log, ["hermes kanban log 12 --follow", "hermes kanban log 12 --run 3"]));
  const inner = defineCommand("supervise", "Look after a run; started by the dispatcher.", terminal).action(
    () => supervise(desk.context),
  );
  kanban.addCommand(inner, { hidden: true });
}

function parseNumber(text: string): number {
  const number = Number(text);
  if (!Number.isInteger(number) || number < 1)
    throw new InvalidArgumentError("Give a whole number of at least 1.");
  return number;
}
