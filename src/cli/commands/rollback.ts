import { relative, resolve } from "node:path";
import type { Command } from "commander";
import { createAppCheckpoints } from "../../app/checkpoints.ts";
import type { Checkpoint, RollbackResult } from "../../checkpoints/checkpoint-store.ts";
import { AppError } from "../../lib/errors.ts";
import { formatTime } from "../../lib/time/format-time.ts";
import type { CommandContext, JsonOption } from "../context.ts";
import { defineCommand, withExamples } from "../define-command.ts";
import { currentFolder } from "../terminal/current-folder.ts";
import { quoteLine } from "../terminal/quote-text.ts";
import { renderTable } from "../terminal/table.ts";
import type { Terminal } from "../terminal/terminal.ts";

interface RollbackOptions extends JsonOption {
  readonly list?: boolean;
  readonly diff?: boolean;
}

/** `hermes rollback` undoes the changes of turns in the files of this project. */
export function build(context: CommandContext): Command {
  const summary = "Undo the changes of the latest turns in this project's files. Your own changes are kept.";
  const command = defineCommand("hermes rollback", summary, context.terminal)
    .argument("[turns]", "number of latest turns to undo (default: 1)")
    .argument("[path]", "undo only in this file or folder")
    .option("--list", "list the checkpoints of this project")
    .option("--diff", "show what would change, and change nothing")
    .option("--json", "print JSON")
    .action((turns, path, options) => rollback(context, { turns, path }, options));
  return withExamples(command, [
    "hermes config set checkpoints.enabled true",
    "hermes rollback --diff",
    "hermes rollback",
    "hermes rollback 3 src/login.ts",
    "hermes rollback               # a second time undoes the rollback",
  ]);
}

async function rollback(
  { terminal, openApp, signal }: CommandContext,
  { turns = "1", path }: { readonly turns?: string; readonly path?: string },
  { list, diff, json }: RollbackOptions,
): Promise<void> {
  const checkpoints = createAppCheckpoints(await openApp());
  const folder = currentFolder();
  if (list) {
    const found = await checkpoints.list(folder, signal);
    if (json) return terminal.printJson(found.map(describe));
    return terminal.print(
      found.length === 0 ? "There are no checkpoints of this project." : formatList(found, terminal),
    );
  }
  if (!/^[1-9]\d{0,3}$/.test(turns))
    throw new AppError("usage-wrong", `"${turns}" is not a number of turns.`, {
      hint: "Name the number first, then the file: hermes rollback 1 src/login.ts",
    });
  const result = await checkpoints.rollBack(
    { folder, steps: Number(turns), path: path === undefined ? undefined : resolve(folder, path) },
    { isDryRun: diff === true },
    signal,
  );
  if (json) return terminal.printJson(result);
  if (result.ignored.length > 0) terminal.note(formatIgnored(result, folder));
  if (diff) return terminal.print(result.patch === "" ? "Nothing would change." : result.patch.trimEnd());
  terminal.print(formatResult(result, folder));
}

function describe({ number, takenAt, reason, sessionId }: Checkpoint) {
  return { number, takenAt: new Date(takenAt).toISOString(), reason, sessionId };
}

function formatList(found: readonly Checkpoint[], terminal: Terminal): string {
  const rows = found.map(({ takenAt, reason, sessionId }, index) => [
    `${index + 1}`,
    formatTime(takenAt),
    sessionId ?? "",
    quoteLine(reason),
  ]);
  return renderTable(["TURNS", "TIME", "SESSION", "BEFORE"], rows, terminal);
}

const SHOWN_IGNORED = 5;

function formatIgnored({ project, ignored }: RollbackResult, folder: string): string {
  const names = ignored
    .slice(0, SHOWN_IGNORED)
    .map((path) => quoteLine(relative(folder, resolve(project, path))));
  const more = ignored.length > SHOWN_IGNORED ? ` and ${ignored.length - SHOWN_IGNORED} more` : "";
  return `Changed since then, but ignored by git and therefore not restored: ${names.join(", ")}${more}`;
}

function formatResult({ project, restored, merged, kept }: RollbackResult, folder: string): string {
  const name = (path: string): string => quoteLine(relative(folder, resolve(project, path)));
  const changed = restored.length + merged.length;
  return [
    changed === 0 ? "Nothing was changed." : `Restored ${changed} ${changed === 1 ? "file" : "files"}:`,
    ...restored.map((path) => `  ${name(path)}`),
    ...merged.map((path) => `  ${name(path)} (your own changes were kept)`),
    ...(kept.length === 0
      ? []
      : ["Not changed, because your own edits cannot be merged:", ...kept.map((path) => `  ${name(path)}`)]),
    ...(changed === 0 ? [] : ["Run `hermes rollback` again to undo this."]),
  ].join("\n");
}
