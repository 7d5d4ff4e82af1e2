import type { ChangeOutcome, FilesChanged } from "../../environments/files/change-files.ts";
import type { EnvironmentFiles } from "../../environments/files/environment-files.ts";
import { isFileProblem } from "../../environments/files/file-problem.ts";
import { containsRedactionMark } from "../../lib/redact/redaction-mark.ts";
import { failed, ok } from "../define-tool.ts";
import type { ToolResult } from "../tool.ts";
import type { ToolParts } from "../tool-parts.ts";
import { describeProblem } from "./describe-problem.ts";
import type { SeenFiles } from "./seen-files.ts";
import { isSourceCode } from "./source-code.ts";

interface ChangeParts extends Pick<ToolParts, "redact"> {
  readonly files: EnvironmentFiles;
  readonly seenFiles: SeenFiles;
  /** The text that had to be found in a file. */
  readonly searched?: string;
}

export async function createChangeResult(
  { files, seenFiles, redact, searched = "" }: ChangeParts,
  outcome: ChangeOutcome,
  showDiff: boolean,
  signal: AbortSignal,
): Promise<ToolResult> {
  if (isFileProblem(outcome)) return failed(await describeProblem(files, outcome, signal));
  const hidden = containsRedactionMark(searched) ? ` ${HIDDEN}` : "";
  switch (outcome.kind) {
    case "changed":
      return changed({ seenFiles, redact }, outcome, showDiff);
    case "stopped": {
      const { problem, changed: done, diff } = outcome;
      const state =
        done.length === 0
          ? "All files are unchanged."
          : `These files were changed and could not be restored: ${done.map(({ realPath }) => realPath).join(", ")}.`;
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
        `old_string occurs ${outcome.count} times in ${outcome.path}, at lines ${outcome.lines.join(", ")}. Nothing was changed. Include more surrounding lines, or set replace_all.`,
      );
    case "not-found":
      return failed(
        `old_string was not found in ${outcome.path}. Nothing was changed. Read the file again.${hidden}${formatNearest(outcome.nearest)}`,
      );
    case "patch-malformed":
      return failed(
        `The patch is malformed: line ${outcome.line} should be ${outcome.expected}, but is ${outcome.found}. Nothing was changed.`,
      );
    case "patch-refused":
      return failed(
        [
          `The patch does not apply. Nothing was changed.${hidden}`,
          ...outcome.problems.map(
            ({ path, message, nearest }) => `${path}: ${message}${formatNearest(nearest)}`,
          ),
        ].join("\n"),
      );
  }
}

function changed(
  { seenFiles, redact }: Pick<ChangeParts, "seenFiles" | "redact">,
  { changes, diff: whole }: FilesChanged,
  showDiff: boolean,
): ToolResult {
  const diff = shownDiff(redact, changes, whole);
  const notes = changes.flatMap(({ realPath, digestBefore }) => {
    const known = seenFiles.known(realPath);
    return known === undefined || digestBefore === undefined || known === digestBefore
      ? []
      : [`Note: ${realPath} was changed by another program after you read it.`];
  });
  for (const { realPath, digest } of changes) seenFiles.note(realPath, digest);
  const lines = changes.map(({ kind, realPath, movedFrom }) =>
    movedFrom === undefined ? `${VERBS[kind]} ${realPath}` : `moved ${movedFrom} to ${realPath}`,
  );
  return ok([...lines, ...notes, ...(showDiff ? [diff] : [])].join("\n"), diff);
}

const HIDDEN =
  "The searched text contains a redaction mark. If the mark stands for a secret that you are not shown, its line cannot be matched. Change the other lines without including that line.";

/** The redacted diff. If both sides of a change look the same after redaction, a note reports the change. */
function shownDiff(redact: ChangeParts["redact"], changes: FilesChanged["changes"], diff: string): string {
  const shown = redact(diff, { code: changes.every(({ realPath }) => isSourceCode(realPath)) });
  const lines = shown.split("\n").filter(containsRedactionMark);
  const removed = new Set(lines.filter((line) => line.startsWith("-")).map((line) => line.slice(1)));
  const looksSame = lines.some((line) => line.startsWith("+") && removed.has(line.slice(1)));
  return looksSame ? `${shown}[A value that is shown only as a redaction mark was changed.]\n` : shown;
}

type Nearest = Extract<ChangeOutcome, { kind: "not-found" }>["nearest"];

function formatNearest(nearest: Nearest): string {
  return nearest === undefined
    ? ""
    : ` The closest match is at line ${nearest.line}:\n${nearest.lines.join("\n")}`;
}

const VERBS = { add: "created", update: "changed", delete: "deleted", move: "moved" } as const;
