import type { Command } from "commander";
import type { App } from "../../app.ts";
import type { CommandContext } from "../context.ts";
import { defineCommand, withExamples } from "../define-command.ts";
import { startApp } from "../start-app.ts";
import type { Desk } from "./kanban/desk.ts";

type Add = (name: string, description: string) => Command;

interface VerbGroup {
  readonly verbs: readonly string[];
  /** What adds them, in a module of its own. */
  load(): Promise<(desk: Desk, add: Add, kanban: Command) => void>;
}

/** All verbs, with their other names. Only those of the group that is asked for are loaded, unless it is not clear which. */
const GROUPS: readonly VerbGroup[] = [
  { verbs: ["create"], load: async () => (await import("./kanban/create.ts")).addCreate },
  { verbs: ["plan"], load: async () => (await import("./kanban/plan/add-plan.ts")).addPlan },
  { verbs: ["list", "ls", "search"], load: async () => (await import("./kanban/list.ts")).addList },
  { verbs: ["show", "context"], load: async () => (await import("./kanban/show.ts")).addShow },
  {
    verbs: ["assign", "edit", "set-model", "link", "unlink", "comment", "hold"],
    load: async () => (await import("./kanban/change.ts")).addChanges,
  },
  {
    verbs: ["attach", "attachments", "attach-rm"],
    load: async () => (await import("./kanban/attachments.ts")).addAttachments,
  },
  {
    verbs: ["complete", "block", "unblock", "schedule", "promote", "archive", "purge"],
    load: async () => (await import("./kanban/moves.ts")).addMoves,
  },
  {
    verbs: ["specify", "answer", "retry", "reopen", "reopen-review"],
    load: async () => (await import("./kanban/ways-back.ts")).addWaysBack,
  },
  {
    verbs: ["request-review", "approve", "request-changes"],
    load: async () => (await import("./kanban/review.ts")).addReview,
  },
  { verbs: ["claim", "release", "runs"], load: async () => (await import("./kanban/claims.ts")).addClaims },
  {
    verbs: ["dispatch", "daemon", "dispatch-status", "why", "unguard", "reassign", "reclaim"],
    load: async () => (await import("./kanban/dispatch/add-dispatch.ts")).addDispatch,
  },
  { verbs: ["tail", "watch"], load: async () => (await import("./kanban/follow.ts")).addFollow },
  { verbs: ["log", "supervise"], load: async () => (await import("./kanban/work/add-work.ts")).addWork },
  {
    verbs: ["stats", "assignees", "diagnostics", "diag"],
    load: async () => (await import("./kanban/findings.ts")).addFindings,
  },
  {
    verbs: ["init", "pause", "resume", "gc", "repair", "help-moves"],
    load: async () => (await import("./kanban/upkeep.ts")).addUpkeep,
  },
  { verbs: ["export", "import"], load: async () => (await import("./kanban/transfer.ts")).addTransfer },
  { verbs: ["boards"], load: async () => (await import("./kanban/boards.ts")).addBoards },
];

/** `hermes kanban`: the board that people and agents share. */
export async function build(context: CommandContext): Promise<Command> {
  const { terminal } = context;
  const kanban = defineCommand("hermes kanban", "Make tasks, move them and see where they stand.", terminal);
  kanban.option(
    "--board <slug>",
    "the board that is meant (default: HERMES_KANBAN_BOARD, or the one switched to)",
  );
  kanban.configureHelp({ ...kanban.configureHelp(), subcommandTerm: termOf });
  let app: Promise<App> | undefined;
  const desk: Desk = {
    context,
    start() {
      app ??= startApp(context);
      return app;
    },
    get board() {
      return kanban.opts<{ board?: string }>().board;
    },
  };
  const define = (name: string, description: string): Command =>
    defineCommand(name, description, terminal).option("--json", "print JSON");
  const add = (name: string, description: string): Command => {
    const command = define(name, description);
    kanban.addCommand(command);
    return command;
  };

  const asked = GROUPS.find(({ verbs }) => verbs.includes(verbIn(context.flags.words) ?? ""));
  for (const { load } of asked === undefined ? GROUPS : [asked]) (await load())(desk, add, kanban);
  if (asked === undefined) {
    const { buildBoard } = await import("./kanban/board.ts");
    const board = define("board", "Show the board; `hermes kanban` alone does the same.");
    const verbs = (): readonly string[] =>
      kanban.commands.flatMap((command) => [command.name(), ...command.aliases()]);
    kanban.addCommand(buildBoard(desk, board, verbs), { isDefault: true });
    const { groupVerbs } = await import("./kanban/verb-groups.ts");
    groupVerbs(kanban);
  }
  kanban.addHelpText("after", "\nExit code: 0 done, 1 refused or failed, 2 wrong usage.");
  return withExamples(kanban, [
    'hermes kanban create "Fix the login page" --assignee coder',
    "hermes kanban list --status ready",
    "hermes kanban complete 12 --result merged",
    "hermes kanban help-moves",
  ]);
}

/** The verb among the words after `hermes kanban`; undefined where options that only commander understands come first. */
function verbIn([command, ...words]: readonly string[]): string | undefined {
  if (command !== "kanban") return undefined;
  const [first = ""] = words;
  const skipped = first === "--board" ? 2 : first.startsWith("--board=") ? 1 : 0;
  return words[skipped];
}

/** Without `[options]`, which every verb has, so that the list fits beside its explanations. */
function termOf(command: Command): string {
  const args = command.registeredArguments.map((one) => {
    const name = one.variadic ? `${one.name()}...` : one.name();
    return one.required ? `<${name}>` : `[${name}]`;
  });
  return [command.name(), ...args].join(" ");
}
