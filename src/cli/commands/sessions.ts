import { type Command, InvalidArgumentError } from "commander";
import type { SearchRole } from "../../sessions/search/search-sessions.ts";
import type { CommandContext } from "../context.ts";
import { defineCommand, withExamples } from "../define-command.ts";
import { deleteOne, renameOne } from "./sessions/change.ts";
import { exportOne, listAll, showOne } from "./sessions/look.ts";
import { searchAll } from "./sessions/search.ts";

const ROLES: readonly SearchRole[] = ["user", "assistant", "tool"];
const UNITS: Record<string, number> = { m: 60_000, h: 3_600_000, d: 86_400_000 };
const WHICH = "an id, the beginning of one, a title, or latest";

/** `hermes sessions`: the conversations of this profile. */
export function build(context: CommandContext): Command {
  const { terminal } = context;
  const sessions = defineCommand("hermes sessions", "List, read, search and tidy up sessions.", terminal);
  const add = (name: string, description: string): Command => {
    const command = defineCommand(name, description, terminal);
    sessions.addCommand(command);
    return command;
  };
  const json = (command: Command): Command => command.option("--json", "print JSON");
  const limited = (command: Command, what: string, count: number): Command =>
    command.option("-n, --limit <count>", what, parseCount, count);

  withExamples(
    json(limited(add("list", "List the sessions, latest first."), "how many at most", 20))
      .option("--source <name>", "only those of this surface, such as cli or telegram; repeatable", collect)
      .option("--all", "also one-shot runs and those that programs made")
      .option("--in <folder>", "only those that work in this folder")
      .action((options) => listAll(context, options)),
    [
      "hermes sessions list",
      "hermes sessions list --source oneshot --limit 5",
      "hermes sessions list --all --json",
    ],
  );
  withExamples(
    json(limited(add("show", "Show a session and what it cost."), "how many of the last messages", 20))
      .argument("<session>", WHICH)
      .action((session, options) => showOne(context, session, options)),
    ["hermes sessions show latest", "hermes sessions show 20260131_09 --limit 100"],
  );
  withExamples(
    json(limited(add("search", "Search all that was said and done."), "how many sessions at most", 10))
      .argument("[words...]", 'all must occur; OR, NOT, "a phrase" and begin* are understood')
      .option("--role <role>", "only messages of user, assistant or tool; repeatable", collectRole)
      .option("--source <name>", "only sessions of this surface; repeatable", collect)
      .option("--since <time>", "only later ones: 2h, 7d or a date", parseSince)
      .option("--newest", "the newest first, not the best match")
      .option("--rebuild", "make the index anew before")
      .action((words, options) => searchAll(context, words, options)),
    [
      "hermes sessions search docker network",
      "hermes sessions search '\"exit code\" NOT podman' --since 7d",
      "hermes sessions search 天気 --role user --newest",
    ],
  );
  withExamples(
    json(add("rename", "Give a session a title."))
      .argument("<session>", WHICH)
      .argument("<title...>", "up to 100 characters")
      .action((session, title, options) => renameOne(context, session, title, options)),
    ["hermes sessions rename latest Release notes"],
  );
  withExamples(
    json(add("delete", "Delete a session for good."))
      .argument("<session>", WHICH)
      .option("-y, --yes", "do not ask")
      .action((session, options) => deleteOne(context, session, options)),
    ["hermes sessions delete 20260131_093000_1a2b3c", "hermes sessions delete latest --yes --json"],
  );
  withExamples(
    add("export", "Print a session as JSON lines.")
      .argument("<session>", WHICH)
      .option("-o, --output <file>", "write to this new file instead")
      .action((session, options) => exportOne(context, session, options)),
    ["hermes sessions export latest > session.jsonl"],
  );
  return withExamples(sessions, [
    "hermes sessions list",
    "hermes sessions show latest",
    "hermes sessions search docker network",
  ]);
}

function collect(value: string, all: readonly string[] = []): string[] {
  return [...all, value];
}

function collectRole(value: string, all: readonly SearchRole[] = []): SearchRole[] {
  const role = ROLES.find((candidate) => candidate === value);
  if (role === undefined) throw new InvalidArgumentError(`There are the roles ${ROLES.join(", ")}.`);
  return [...all, role];
}

function parseCount(text: string): number {
  if (!/^[1-9]\d{0,5}$/.test(text)) throw new InvalidArgumentError("Give a whole number greater than 0.");
  return Number(text);
}

function parseSince(text: string): number {
  const [, amount, unit] = /^(\d+)([mhd])$/.exec(text) ?? [];
  const time = amount && unit ? Date.now() - Number(amount) * (UNITS[unit] ?? 0) : Date.parse(text);
  if (Number.isNaN(time)) throw new InvalidArgumentError("Give a time such as 2h, 7d or 2026-01-31.");
  return time;
}
