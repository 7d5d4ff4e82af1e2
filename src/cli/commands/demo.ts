import { type Command, Option } from "commander";
import type { CommandContext } from "../context.ts";
import { defineCommand, withExamples } from "../define-command.ts";
import { unknownVerb } from "../unknown-verb.ts";

interface DemoFlags {
  readonly local?: boolean;
  readonly docker?: boolean;
  readonly fast?: boolean;
}

const FAST = ["--fast", "without the pauses that let a person follow"] as const;

/** `hermes demo`: a small piece of work from beginning to end with a kill in the middle, by one agent or by several. */
export function build(context: CommandContext): Command {
  const command = defineCommand(
    "hermes demo",
    "See the agent do a small piece of work, be killed in the middle, and go on; or, with `board`, several of them at work on a board. It needs no key and no network: the model follows a script, everything else is real. It works in a temporary folder and leaves nothing behind.",
    context.terminal,
  )
    .addOption(
      new Option("--local", "run commands on this machine even where there is a container engine").conflicts(
        "docker",
      ),
    )
    .option("--docker", "run commands in a sandbox, however long the container engine takes for it")
    .option(...FAST)
    .allowExcessArguments()
    .action(async ({ local, docker, fast }: DemoFlags, { args: [word] }: Command) => {
      if (word !== undefined) throw unknownVerb("hermes demo", word, ["board"]);
      const { runDemo } = await import("./demo/run-demo.ts");
      const place = local ? "local" : docker ? "sandbox" : "any";
      await runDemo(context, { place, isFast: fast ?? false });
    });
  command.addCommand(buildBoard(context));
  return withExamples(command, ["hermes demo", "hermes demo --local --fast", "hermes demo board"]);
}

function buildBoard(context: CommandContext): Command {
  const command = defineCommand(
    "board",
    "See three profiles work off eight tasks that wait for each other, on this machine. A worker is killed on the way; its task is taken up again and done once.",
    context.terminal,
  )
    .option(...FAST)
    .action(async (_: DemoFlags, { parent }: Command) => {
      const { runBoardDemo } = await import("./demo/board/run-board-demo.ts");
      await runBoardDemo(context, { isFast: parent?.opts<DemoFlags>().fast ?? false });
    });
  return withExamples(command, ["hermes demo board", "hermes demo board --fast | less"]);
}
