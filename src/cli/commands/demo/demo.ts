import { type Command, Option } from "commander";
import type { CommandContext } from "../../context.ts";
import { defineCommand, withExamples } from "../../define-command.ts";
import { unknownVerb } from "../../unknown-verb.ts";

interface DemoFlags {
  readonly local?: boolean;
  readonly docker?: boolean;
  readonly fast?: boolean;
}

const FAST = ["--fast", "skip the pauses"] as const;

export function build(context: CommandContext): Command {
  const command = defineCommand(
    "hermes demo",
    "Watch the agent fix a small bug, get killed halfway and resume. With `board`, watch several agents work on a board; with `dashboard`, watch them in a browser. The demo needs no key and no network: the model follows a script, everything else is real. It runs in a temporary folder and leaves nothing behind.",
    context.terminal,
  )
    .addOption(new Option("--local", "run commands on this machine, not in a container").conflicts("docker"))
    .option("--docker", "run commands in a container; wait for a slow engine")
    .option(...FAST)
    .allowExcessArguments()
    .action(async ({ local, docker, fast }: DemoFlags, { args: [word] }: Command) => {
      if (word !== undefined) throw unknownVerb("hermes demo", word, ["board", "dashboard"]);
      const { runDemo } = await import("./run-demo.ts");
      const environment = local ? "local" : docker ? "sandbox" : "any";
      await runDemo(context, { environment, isFast: fast ?? false });
    });
  command.addCommand(buildBoard(context));
  command.addCommand(buildDashboard(context));
  return withExamples(command, [
    "hermes demo",
    "hermes demo --local --fast",
    "hermes demo board",
    "hermes demo dashboard",
  ]);
}

function buildDashboard(context: CommandContext): Command {
  const command = defineCommand(
    "dashboard",
    "Watch several profiles work through nine tasks in the dashboard, and answer the question of one. Runs until you press Ctrl-C.",
    context.terminal,
  )
    .option("--no-open", "print the link, but open no browser")
    .option(...FAST)
    .action(async ({ open = true }: { readonly open?: boolean }, { parent }: Command) => {
      const { runDashboardDemo } = await import("./board/run-dashboard-demo.ts");
      const isFast = parent?.opts<DemoFlags>().fast ?? false;
      await runDashboardDemo(context, { isFast, opensBrowser: open });
    });
  return withExamples(command, ["hermes demo dashboard", "hermes demo dashboard --no-open"]);
}

function buildBoard(context: CommandContext): Command {
  const command = defineCommand(
    "board",
    "Watch three profiles work through eight tasks that depend on each other, on this machine. One worker is killed; its task is retried and completed once.",
    context.terminal,
  )
    .option(...FAST)
    .action(async (_: DemoFlags, { parent }: Command) => {
      const { runBoardDemo } = await import("./board/run-board-demo.ts");
      await runBoardDemo(context, { isFast: parent?.opts<DemoFlags>().fast ?? false });
    });
  return withExamples(command, ["hermes demo board", "hermes demo board --fast | less"]);
}
