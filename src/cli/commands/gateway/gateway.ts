import type { Command } from "commander";
import type { CommandContext } from "../../context.ts";
import { defineCommand, verbsOf, withExamples } from "../../define-command.ts";
import { parseCount } from "../../parse-option.ts";
import { manageKeys } from "./api-keys.ts";
import { manageHooks } from "./hooks.ts";
import { showMessages } from "./messages.ts";
import { runInForeground } from "./run.ts";
import { setUpPlatform } from "./setup.ts";
import { restartGateway, startGateway, stopGateway } from "./start-stop.ts";
import { showStatus } from "./status.ts";

/** `hermes gateway` runs and controls the process that answers on messaging platforms. */
export function build(context: CommandContext): Command {
  const { terminal } = context;
  const gateway = defineCommand(
    "hermes gateway",
    "Answer on messaging platforms and over HTTP, and dispatch the tasks of the board.",
    terminal,
  );
  const add = verbsOf(gateway, terminal);
  add("run", "Run the gateway here until it is stopped.", [
    "hermes gateway run",
    "hermes -p work gateway run",
  ])
    .option("--background", "print nothing, for a process without a terminal")
    .action((options) => runInForeground(context, options));
  add("setup", "Connect a messaging platform: asks for its settings, logs in, then saves them.", [
    "hermes gateway setup",
    "hermes gateway setup telegram",
  ])
    .argument("[platform]", "platform to set up")
    .action((platform) => setUpPlatform(context, platform));
  add("start", "Start the gateway in the background.", ["hermes gateway start"]).action(() =>
    startGateway(context),
  );
  add("stop", "Stop the gateway; running turns get time to end.", ["hermes gateway stop"]).action(() =>
    stopGateway(context),
  );
  add("restart", "Stop the gateway after its running turns, and start it again.", [
    "hermes gateway restart",
  ]).action(() => restartGateway(context));
  add("status", "Show whether the gateway is running, and the state of its platforms.", [
    "hermes gateway status",
  ])
    .option("--json", "print JSON")
    .action((options) => showStatus(context, options));
  add("messages", "List messages, or show when one was received, answered and delivered.", [
    "hermes gateway messages",
    "hermes gateway messages 12",
  ])
    .argument("[number]", "number of a message", parseCount)
    .option("-n, --lines <count>", "number of messages", parseCount, 20)
    .option("--json", "print JSON")
    .action((key, options) => showMessages(context, key, options));
  add("logs", "Show what the gateway logged.", ["hermes gateway logs --follow"])
    .option("-f, --follow", "follow new lines as they are written")
    .option("-n, --lines <count>", "number of latest lines to show", parseCount, 50)
    .action(async (options) => {
      const { showLogs } = await import("../logs.ts");
      return showLogs(context, "agent", { ...options, component: "gateway" });
    });
  add("hooks", "List the hooks of the gateway, or trust one as it is now.", [
    "hermes gateway hooks",
    "hermes gateway hooks notify --trust",
  ])
    .argument("[name]", "name of a hook: its folder in hooks/ of the home")
    .option("--trust", "run it from the next start of the gateway on, until it changes")
    .option("--distrust", "stop running it")
    .option("--json", "print JSON")
    .action((name, options) => manageHooks(context, name, options));
  add("keys", "List the keys of the API, or add or remove one.", [
    "hermes gateway keys",
    "hermes gateway keys laptop --scope chat runs",
    "hermes gateway keys laptop --remove",
  ])
    .argument("[name]", "name of the key")
    .option("--scope <scope...>", "what the key may use: chat, runs, sessions, jobs, metrics, admin", [
      "chat",
      "runs",
    ])
    .option("--remove", "remove the key")
    .option("--json", "print JSON")
    .action((name, options) => manageKeys(context, name, options));
  return withExamples(gateway, ["hermes gateway run", "hermes gateway status", "hermes gateway messages"]);
}
