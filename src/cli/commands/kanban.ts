import type { Command } from "commander";
import type { App } from "../../app.ts";
import type { CommandContext } from "../context.ts";
import { defineCommand, withExamples } from "../define-command.ts";
import { startApp } from "../start-app.ts";
import { addAttachments } from "./kanban/attachments.ts";
import { buildBoard } from "./kanban/board.ts";
import { buildBoards } from "./kanban/boards.ts";
import { addChanges } from "./kanban/change.ts";
import { addClaims } from "./kanban/claims.ts";
import { addCreate } from "./kanban/create.ts";
import type { Desk } from "./kanban/desk.ts";
import { addDispatch, addReclaim } from "./kanban/dispatch/add-dispatch.ts";
import { addFindings } from "./kanban/findings.ts";
import { addFollow } from "./kanban/follow.ts";
import { addList } from "./kanban/list.ts";
import { addMoves } from "./kanban/moves.ts";
import { addPlan } from "./kanban/plan/add-plan.ts";
import { addReview } from "./kanban/review.ts";
import { addShow } from "./kanban/show.ts";
import { addTransfer } from "./kanban/transfer.ts";
import { addUpkeep } from "./kanban/upkeep.ts";
import { groupVerbs } from "./kanban/verb-groups.ts";
import { addWaysBack } from "./kanban/ways-back.ts";
import { addWork } from "./kanban/work/add-work.ts";

/** `hermes kanban`: the board that people and agents share. */
export function build(context: CommandContext): Command {
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

  const board = define("board", "Show the board; `hermes kanban` alone does the same.");
  const verbs = (): readonly string[] =>
    kanban.commands.flatMap((command) => [command.name(), ...command.aliases()]);
  kanban.addCommand(buildBoard(desk, board, verbs), { isDefault: true });
  addCreate(desk, add);
  addPlan(desk, add);
  addList(desk, add);
  addShow(desk, add);
  addChanges(desk, add);
  addAttachments(desk, add);
  addMoves(desk, add);
  addWaysBack(desk, add);
  addReview(desk, add);
  addClaims(desk, add);
  addDispatch(desk, add);
  addReclaim(desk, add);
  addFollow(desk, add);
  addWork(desk, kanban);
  addFindings(desk, add);
  addUpkeep(desk, add);
  addTransfer(desk, add);
  kanban.addCommand(buildBoards(desk));
  groupVerbs(kanban);
  kanban.addHelpText("after", "\nExit code: 0 done, 1 refused or failed, 2 wrong usage.");
  return withExamples(kanban, [
    'hermes kanban create "Fix the login page" --assignee coder',
    "hermes kanban list --status ready",
    "hermes kanban complete t_1a2b3c4d5e6f --result merged",
    "hermes kanban help-moves",
  ]);
}

/** Without `[options]`, which every verb has, so that the list fits beside its explanations. */
function termOf(command: Command): string {
  const args = command.registeredArguments.map((one) => {
    const name = one.variadic ? `${one.name()}...` : one.name();
    return one.required ? `<${name}>` : `[${name}]`;
  });
  return [command.name(), ...args].join(" ");
}
