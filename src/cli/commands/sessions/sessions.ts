import { type Command, InvalidArgumentError, Option } from "commander";
import type { SearchRole } from "../../../sessions/search/search-sessions.ts";
import type { CommandContext } from "../../context.ts";
import { defineCommand, verbsOf, withExamples } from "../../define-command.ts";
import { collect, parseAge, parseCount, parseSince } from "../../parse-option.ts";
import { archiveSession, branchSession, redoTurns, undoTurns } from "./change-session.ts";
import { compactSession } from "./compact.ts";
import { EXPORT_FORMATS, exportSession } from "./export/export-session.ts";
import { pruneSessions } from "./prune.ts";
import { deleteSession, renameSession } from "./rename-delete.ts";
import { searchSessions } from "./search.ts";
import { listSessions, showSession } from "./show.ts";
import { showStats } from "./stats.ts";
import { showTree } from "./tree.ts";

const ROLES: readonly SearchRole[] = ["user", "assistant", "tool"];
const SESSION = ["<session>", "session id, id prefix or title, or latest"] as const;
const PRUNE_AGE_MS = 90 * 86_400_000;
const LIMIT = "-n, --limit <count>";

export function build(context: CommandContext): Command {
  const { terminal } = context;
  const sessions = defineCommand(
    "hermes sessions",
    "List, read, search, branch and export sessions.",
    terminal,
  );
  const add = verbsOf(sessions, terminal, { json: true });
  add("list", "List sessions, latest first.", [
    "hermes sessions list",
    "hermes sessions list --source oneshot --limit 5",
    "hermes sessions list --all --json",
  ])
    .option(LIMIT, "maximum number of sessions", parseCount, 20)
    .option(
      "--source <name>",
      "only sessions from this source, such as cli or telegram (repeatable)",
      collect,
    )
    .option("--all", "include one-shot runs and sessions created by programs")
    .option("--archived", "list only archived sessions")
    .option("--in <folder>", "only sessions of this working directory")
    .action((options) => listSessions(context, options));
  add("show", "Show a session and its cost.", [
    "hermes sessions show latest",
    "hermes sessions show 20260131_09 --limit 100",
  ])
    .option(LIMIT, "number of messages to show, latest last", parseCount, 20)
    .option("--undone", "also show the messages of undone turns")
    .argument(...SESSION)
    .action((session, options) => showSession(context, session, options));
  add("search", "Search all sessions.", [
    "hermes sessions search docker network",
    "hermes sessions search '\"exit code\" NOT podman' --since 7d",
    "hermes sessions search 天気 --role user --newest",
  ])
    .option(LIMIT, "maximum number of sessions", parseCount, 10)
    .argument("[words...]", 'all words must occur; supports OR, NOT, "a phrase" and prefix*')
    .option("--role <role>", "only messages of user, assistant or tool (repeatable)", collectRole)
    .option("--source <name>", "only sessions from this source (repeatable)", collect)
    .option("--since <time>", "only messages after this time: 2h, 7d or a date", parseSince)
    .option("--newest", "sort by time instead of by relevance")
    .option("--rebuild", "rebuild the search index first")
    .action((words, options) => searchSessions(context, words, options));
  add("compact", "Summarise the older part of a session.", [
    "hermes sessions compact",
    "hermes sessions compact latest --preview",
    "hermes sessions compact 20260131_09 --focus 'the database schema'",
  ])
    .argument("[session]", SESSION[1], "latest")
    .option("--preview", "show what would be summarised, and change nothing")
    .option("--focus <text>", "what the summary should keep in particular")
    .action((session, options) => compactSession(context, session, options));
  add("rename", "Set the title of a session.", [
    "hermes sessions rename latest Release notes",
    "hermes sessions rename latest --auto",
  ])
    .argument(...SESSION)
    .argument("[title...]", "up to 100 characters")
    .option("--auto", "let a model write the title")
    .action((session, title, options) => renameSession(context, session, title, options));
  add("branch", "Start a copy of a session at a message.", [
    "hermes sessions branch latest",
    'hermes sessions branch 20260131_09 --at 4 --title "Without Docker"',
  ])
    .argument(...SESSION)
    .option("--at <message>", "number of the last message to keep, as `show` prints it", parseCount)
    .option("--title <title>", "title of the branch")
    .action((session, options) => branchSession(context, session, options));
  add("undo", "Hide the last turns from the model.", [
    "hermes sessions undo latest",
    "hermes sessions undo latest 3",
  ])
    .argument(...SESSION)
    .argument("[turns]", "number of turns", parseCount, 1)
    .action((session, turns, options) => undoTurns(context, session, turns, options));
  add("redo", "Restore the turns of the last undo.", ["hermes sessions redo latest"])
    .argument(...SESSION)
    .action((session, options) => redoTurns(context, session, options));
  add("retry", "Undo a turn and send its message again.", [
    "hermes sessions retry latest",
    "hermes sessions retry latest -m anthropic:claude-opus-4-1",
  ])
    .argument(...SESSION)
    .option("-m, --model <model>", "model to use from now on, as NAME or PROVIDER:NAME")
    .action(async (resume, { model, json }) => {
      const { runOnce } = await import("../chat/run-once.ts");
      return runOnce(context, undefined, { resume, retry: true, model, json });
    });
  add("tree", "Show the branches of sessions.", ["hermes sessions tree", "hermes sessions tree latest"])
    .argument("[session]", "only the family of this session")
    .action((session, options) => showTree(context, session, options));
  for (const [verb, description, isArchived] of [
    ["archive", "Hide a session from lists.", true],
    ["unarchive", "Show an archived session in lists.", false],
  ] as const)
    add(verb, description, [`hermes sessions ${verb} 20260131_093000_1a2b3c`])
      .argument(...SESSION)
      .action((session, options) => archiveSession(context, session, isArchived, options));
  add("prune", "Delete sessions unused for a long time.", [
    "hermes sessions prune --dry-run",
    "hermes sessions prune --older-than 30d --source oneshot --yes",
  ])
    .addOption(
      new Option("--older-than <age>", "only sessions unused for at least this long")
        .argParser(parseAge)
        .default(PRUNE_AGE_MS, "90d"),
    )
    .option("--source <name>", "only sessions from this source (repeatable)", collect)
    .option("--archived", "also delete archived sessions")
    .option("--dry-run", "only list them")
    .option("-y, --yes", "skip the confirmation")
    .action((options) => pruneSessions(context, options));
  add("stats", "Show number, size and cost of sessions.", ["hermes sessions stats --since 30d"])
    .option("--since <time>", "only requests after this time: 2h, 7d or a date", parseSince)
    .action((options) => showStats(context, options));
  add("delete", "Delete a session permanently.", [
    "hermes sessions delete 20260131_093000_1a2b3c",
    "hermes sessions delete latest --yes --json",
  ])
    .argument(...SESSION)
    .option("-y, --yes", "skip the confirmation")
    .action((session, options) => deleteSession(context, session, options));
  const addPlain = verbsOf(sessions, terminal);
  addPlain("export", "Write JSON lines, Markdown or HTML.", [
    "hermes sessions export latest > session.jsonl",
    "hermes sessions export latest -o session.html",
    "hermes sessions export latest --format markdown --only answers",
  ])
    .argument(...SESSION)
    .addOption(
      new Option("--format <format>", "format; by default that of the file's name, or jsonl").choices(
        EXPORT_FORMATS,
      ),
    )
    .option("-o, --output <file>", "write to a new file instead of standard output")
    .addOption(
      new Option("--only <kind>", "only the messages of the user, or only answers").choices([
        "prompts",
        "answers",
      ]),
    )
    .option("--redact", "hide everything that looks like a secret, not only the keys of the profile")
    .option("--json", "the same as --format jsonl")
    .action((session, { json, ...options }) =>
      exportSession(context, session, json ? { ...options, format: "jsonl" } : options),
    );
  return withExamples(sessions, [
    "hermes sessions list",
    "hermes sessions show latest",
    "hermes sessions search docker network",
  ]);
}

function collectRole(value: string, all: readonly SearchRole[] = []): SearchRole[] {
  const role = ROLES.find((candidate) => candidate === value);
  if (role === undefined) throw new InvalidArgumentError(`Use one of ${ROLES.join(", ")}.`);
  return [...all, role];
}
