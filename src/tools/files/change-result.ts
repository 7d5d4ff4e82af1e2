import type { ChangeOutcome, FilesChanged } from "../../environments/files/change-files.ts";
import type { EnvironmentFiles } from "../../environments/files/environment-files.ts";
import { isFileProblem } from "../../environments/files/file-problem.ts";
import { containsRedactionMark } from "../../lib/redact/mark.ts";
import { failed, ok } from "../define-tool.ts";
import type { ToolResult } from "../tool.ts";
import type { ToolParts } from "../workspace.ts";
import { describeProblem } from "./describe-problem.ts";
import type { FileMemory } from "./file-memory.ts";
import { holdsSettings } from "./settings-file.ts";

interface ChangeParts extends Pick<ToolParts, "redact"> {
  readonly files: EnvironmentFiles;
  readonly memory: FileMemory;
  /** What had to be found in a file for the change. */
  readonly searched?: string;
}

/** What the model is told of a change, or of why there was none. */
export async function changeResult(
  { files, memory, redact, searched = "" }: ChangeParts,
  outcome: ChangeOutcome,
  showDiff: boolean,
  signal: AbortSignal,
): Promise<ToolResult> {
  if (isFileProblem(outcome)) return failed(await describeProblem(files, outcome, signal));
  const hidden = containsRedactionMark(searched) ? ` ${HIDDEN}` : "";
  switch (outcome.kind) {
    case "changed":
      return changed({ memory, redact }, outcome, showDiff);
    case "stopped": {
      const { problem, changed: done, diff } = outcome;
      const state =
        done.length === 0
          ? "Everything is as it was."
          : `These were changed and could not be put back: ${done.map(({ real }) => real).join(", ")}.`;
      return failed(
        `${problem.message} ${problem.hint} ${state}`,
        shownDiff(redact, done, diff) || undefined,
      );
    }
    case "not-text":
    case "outside":
    case "forbidden":
      return failed(`${outcome.message} Nothing was changed.`);
    case "unchanged":
      return ok(outcome.message);
    case "ambiguous":
      return failed(
        `old_string stands ${outcome.count} times in ${outcome.path}, at lines ${outcome.lines.join(", ")}. Nothing was changed. Give more of its surroundings, or set replace_all.`,
      );
    case "not-found":
      return failed(
        `old_string was not found in ${outcome.path}. Nothing was changed. Read the file again.${hidden}${nearWords(outcome.nearest)}`,
      );
    case "patch-malformed":
      return failed(
        `The patch cannot be read: line ${outcome.line} should be ${outcome.expected}, but is ${outcome.found}. Nothing was changed.`,
      );
    case "patch-refused":
      return failed(
        [
          `The patch does not fit. Nothing was changed.${hidden}`,
          ...outcome.problems.map(({ path, message, nearest }) => `${path}: ${message}${nearWords(nearest)}`),
        ].join("\n"),
      );
  }
}

function changed(
  { memory, redact }: Pick<ChangeParts, "memory" | "redact">,
  { changes, diff: whole }: FilesChanged,
  showDiff: boolean,
): ToolResult {
  const diff = shownDiff(redact, changes, whole);
  const notes = changes.flatMap(({ real, digestBefore }) => {
    const known = memory.known(real);
    return known === undefined || digestBefore === undefined || known === digestBefore
      ? []
      : [`Note: ${real} had been changed by somebody else since you read it.`];
  });
  for (const { real, digest } of changes) memory.note(real, digest);
  const lines = changes.map(({ kind, real, movedFrom }) =>
    movedFrom === undefined ? `${VERBS[kind]} ${real}` : `moved ${movedFrom} to ${real}`,
  );
  return ok([...lines, ...notes, ...(showDiff ? [diff] : [])].join("\n"), diff);
}

const HIDDEN =
  "It has a redaction mark in it: where that stands for a secret that you are not shown, the line cannot be matched. Change the lines around it, without it.";

/** The diff as the model and people may see it. A change of which both sides look the same is told in words. */
function shownDiff(redact: ChangeParts["redact"], changes: FilesChanged["changes"], diff: string): string {
  const shown = redact(diff, { code: !changes.some(({ real }) => holdsSettings(real)) });
  const lines = shown.split("\n").filter(containsRedactionMark);
  const removed = new Set(lines.filter((line) => line.startsWith("-")).map((line) => line.slice(1)));
  const looksSame = lines.some((line) => line.startsWith("+") && removed.has(line.slice(1)));
  return looksSame ? `${shown}[A value that is shown only as a redaction mark was changed.]\n` : shown;
}

type Nearest = Extract<ChangeOutcome, { kind: "not-found" }>["nearest"];

function nearWords(nearest: Nearest): string {
  return nearest === undefined
    ? ""
    : ` The nearest place is at line ${nearest.line}:\n${nearest.lines.join("\n")}`;
}

const VERBS = { add: "created", update: "changed", delete: "deleted", move: "moved" } as const;
