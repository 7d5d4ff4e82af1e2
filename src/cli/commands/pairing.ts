import type { Command } from "commander";
import { type GatewayRecords, openGatewayRecords } from "../../app/server/gateway-status.ts";
import { AppError } from "../../lib/errors.ts";
import { formatDuration, formatTime } from "../../lib/time/format-time.ts";
import type { CommandContext, JsonOption } from "../context.ts";
import { defineCommand, verbsOf, withExamples } from "../define-command.ts";
import { requirePerson } from "../require-person.ts";
import { startApp } from "../start-app.ts";
import { escapeControls } from "../terminal/escape-controls.ts";
import { renderTable } from "../terminal/table.ts";

/** `hermes pairing` approves people who wrote to the gateway, and revokes approvals. */
export function build(context: CommandContext): Command {
  const { terminal } = context;
  const pairing = defineCommand("hermes pairing", "Approve people who wrote to the gateway.", terminal);
  const add = verbsOf(pairing, terminal);
  add("list", "List waiting requests and approved people.", ["hermes pairing list"])
    .option("--json", "print JSON")
    .action((options) => list(context, options));
  add("approve", "Approve a person, by the code that the person got or by the id of the request.", [
    "hermes pairing approve irc ABCD2345",
  ])
    .argument("<platform>", "platform of the request")
    .argument("<code...>", "code or request id; spaces do not matter")
    .action((platform, words) => approve(context, platform, words));
  add("revoke", "Revoke the approval of a person immediately.", ["hermes pairing revoke irc anna"])
    .argument("<platform>", "platform of the person")
    .argument("<user>", "id of the person")
    .action((platform, user) => revoke(context, platform, user));
  return withExamples(pairing, ["hermes pairing list", "hermes pairing approve irc ABCD2345"]);
}

async function withRecords(
  context: CommandContext,
  work: (records: GatewayRecords) => void | Promise<void>,
): Promise<void> {
  using records = await openGatewayRecords(await startApp(context), context.signal);
  await work(records);
}

function list(context: CommandContext, { json = false }: JsonOption): Promise<void> {
  const { terminal } = context;
  return withRecords(context, ({ pairing }) => {
    const [waiting, users] = [pairing.waiting(), pairing.users()];
    if (json) return terminal.printJson({ waiting, users });
    if (waiting.length + users.length === 0)
      return terminal.note("No one is approved or waits for approval.");
    const rows = [
      ...waiting.map(({ id, platform, userId, requestedAt }) => [
        platform,
        escapeControls(userId),
        `asked ${formatDuration(Date.now() - requestedAt)} ago`,
        id,
      ]),
      ...users.map(({ platform, userId, pairedAt }) => [
        platform,
        escapeControls(userId),
        `paired ${formatTime(pairedAt)}`,
        "",
      ]),
    ];
    terminal.print(renderTable(["platform", "user", "state", "request"], rows, terminal));
  });
}

function approve(context: CommandContext, platform: string, words: readonly string[]): Promise<void> {
  requirePerson(context);
  return withRecords(context, async ({ pairing }) => {
    const { userId } = await pairing.approve(platform, words.join(""), context.signal);
    context.terminal.note(`${escapeControls(userId)} is approved on ${platform}.`);
  });
}

function revoke(context: CommandContext, platform: string, user: string): Promise<void> {
  requirePerson(context);
  return withRecords(context, async ({ pairing }) => {
    if (!(await pairing.revoke(platform, user, context.signal)))
      throw new AppError("pairing-not-found", `${user} is not paired on ${platform}.`, {
        hint: "See `hermes pairing list`; a person in an allow-list of the settings is removed there.",
      });
    context.terminal.note(`${escapeControls(user)} is no longer approved on ${platform}.`);
  });
}
