import type { Command } from "commander";
import type { CommandContext } from "../context.ts";
import { defineCommand, withExamples } from "../define-command.ts";
import { runDemo } from "./demo/run-demo.ts";

/** `hermes demo`: a small piece of work from beginning to end, with a kill in the middle. */
export function build(context: CommandContext): Command {
  const command = defineCommand(
    "hermes demo",
    "See the agent do a small piece of work, be killed in the middle, and go on. It needs no key and no network: the model follows a script, everything else is real. It works in a temporary folder and leaves nothing behind.",
    context.terminal,
  )
    .option("--local", "run commands on this machine even where there is a container engine")
    .option("--fast", "without the pauses that let a person follow")
    .action((options: { local?: boolean; fast?: boolean }) =>
      runDemo(context, { isLocal: options.local ?? false, isFast: options.fast ?? false }),
    );
  return withExamples(command, ["hermes demo", "hermes demo --local --fast"]);
}
