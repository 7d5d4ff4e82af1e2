import type { Command } from "commander";
import type { App } from "../../../app/app.ts";
import type { CommandContext } from "../../context.ts";
import { type AddVerb, defineCommand, verbsOf, withExamples } from "../../define-command.ts";
import { startApp } from "../../start-app.ts";
import type { KanbanContext } from "./kanban-context.ts";

interface VerbModule {
  readonly verbs: readonly string[];
  load(): Promise<{ addVerbs(kanbanContext: KanbanContext, add: AddVerb, kanban: Command): void }>;
}

/** All verbs and their aliases. Only the module of the called verb is loaded, or all modules if the verb is unknown. */
const MODULES: readonly VerbModule[] = [
  { verbs: ["create"], load: () => import("./tasks/create.ts") },
  { verbs: ["plan"], load: () => import("./plan/add-plan.ts") },
  { verbs: ["list", "ls", "search"], load: () => import("./views/list.ts") },
  { verbs: ["show", "context"], load: () => import("./views/show.ts") },
  {
    verbs: ["assign", "edit", "set-model", "link", "unlink", "comment", "hold"],
    load: () => import("./tasks/edit.ts"),
  },
  { verbs: ["attach", "attachments", "attach-rm"], load: () => import("./tasks/attachments.ts") },
  {
    verbs: ["complete", "block", "unblock", "schedule", "promote", "archive", "purge"],
    load: () => import("./tasks/moves.ts"),
  },
  {
    verbs: ["specify", "answer", "retry", "reopen", "reopen-review"],
    load: () => import("./tasks/recovery.ts"),
  },
  { verbs: ["request-review", "approve", "request-changes"], load: () => import("./tasks/review.ts") },
  { verbs: ["claim", "release", "runs"], load: () => import("./tasks/claims.ts") },
  {
    verbs: ["dispatch", "daemon", "dispatch-status"],
    load: () => import("./dispatch/add-dispatch.ts"),
  },
  { verbs: ["why", "unguard"], load: () => import("./dispatch/why.ts") },
  { verbs: ["reassign", "reclaim"], load: () => import("./dispatch/reclaim.ts") },
  { verbs: ["tail", "watch"], load: () => import("./views/follow.ts") },
  { verbs: ["notify-subscribe", "notify-unsubscribe"], load: () => import("./views/notify.ts") },
  { verbs: ["log", "supervise"], load: () => import("./work/log.ts") },
  { verbs: ["stats", "assignees", "diagnostics", "diag"], load: () => import("./views/findings.ts") },
  {
    verbs: ["init", "pause", "resume", "gc", "repair", "help-moves"],
    load: () => import("./boards/maintenance.ts"),
  },
  { verbs: ["export", "import"], load: () => import("./boards/transfer.ts") },
  { verbs: ["boards"], load: () => import("./boards/boards.ts") },
];

export async function build(context: CommandContext): Promise<Command> {
  const { terminal } = context;
  const kanban = defineCommand("hermes kanban", "Create, run and track tasks on a board.", terminal);
  kanban.option("--board <slug>", "board to use (default: HERMES_KANBAN_BOARD, or the current board)");
  kanban.configureHelp({ ...kanban.configureHelp(), subcommandTerm: termOf });
  let app: Promise<App> | undefined;
  const kanbanContext: KanbanContext = {
    context,
    start() {
      app ??= startApp(context);
      return app;
    },
    get board() {
      return kanban.opts<{ board?: string }>().board;
    },
  };
  const add = verbsOf(kanban, terminal, { json: true });

  const module = MODULES.find(({ verbs }) => verbs.includes(verbIn(context.flags.words) ?? ""));
  for (const { load } of module === undefined ? MODULES : [module])
    (await load()).addVerbs(kanbanContext, add, kanban);
  if (module === undefined) {
    const { buildBoard } = await import("./views/board.ts");
    kanban.addCommand(buildBoard(kanbanContext, kanban), { isDefault: true });
    const { groupVerbs } = await import("./verb-groups.ts");
    groupVerbs(kanban);
  }
  kanban.addHelpText("after", "\nExit codes: 0 done, 1 failed or refused, 2 wrong usage.");
  return withExamples(kanban, [
    'hermes kanban create "Fix the login page" --assignee coder',
    "hermes kanban list --status ready",
    "hermes kanban complete 12 --result merged",
    "hermes kanban help-moves",
  ]);
}

/** The word after `hermes kanban` and --board; if another option comes first, that option, which no module has. */
function verbIn([command, ...words]: readonly string[]): string | undefined {
  if (command !== "kanban") return undefined;
  const [first = ""] = words;
  const skipped = first === "--board" ? 2 : first.startsWith("--board=") ? 1 : 0;
  return words[skipped];
}

/** The usage of a verb without `[options]`, which every verb has; this leaves room for the descriptions. */
function termOf(command: Command): string {
  return command.createHelp().subcommandTerm(command).replace(/\|\S+/, "").replace(" [options]", "");
}
