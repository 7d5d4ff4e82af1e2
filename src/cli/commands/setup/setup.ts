import type { Command } from "commander";
import type { CommandContext } from "../../context.ts";
import { defineCommand, withExamples } from "../../define-command.ts";
import { openChatIfPossible } from "../chat/chat.ts";
import { runSetup } from "./run-setup.ts";

export function build(context: CommandContext): Command {
  const command = defineCommand(
    "hermes setup",
    "Choose a model, the environment and the approvals by answering a few questions, then open the chat. Nothing is written before the last answer. Run it again to change something.",
    context.terminal,
  )
    .option("--no-chat", "end after the last question")
    .action(async ({ chat }: { readonly chat: boolean }) => {
      const continues = await runSetup(context, { onlyModel: false });
      if (chat && continues) await openChatIfPossible(context);
    });
  return withExamples(command, ["hermes setup", "hermes -p work setup --no-chat"]);
}
