import { posix } from "node:path";
import { z } from "zod";
import type { EnvironmentFiles } from "../../environments/files/environment-files.ts";
import { isFileProblem } from "../../environments/files/file-problem.ts";
import { defineTool, failed, ok } from "../define-tool.ts";
import type { Tool } from "../tool.ts";
import type { ToolParts } from "../tool-parts.ts";
import { describeProblem } from "./describe-problem.ts";
import { maskPrivateKeyLines } from "./private-key-lines.ts";
import { isSourceCode } from "./source-code.ts";

const input = z.strictObject({
  pattern: z.string().min(1).describe("Regular expression, or a glob for target files"),
  target: z.enum(["content", "files"]).default("content"),
  path: z.string().min(1).default("."),
  file_glob: z.string().optional().describe("Only these files, e.g. *.ts"),
  limit: z.int().min(1).max(1_000).default(50),
  offset: z.int().min(0).default(0).describe("Results to skip"),
  output_mode: z.enum(["content", "files_only", "count"]).default("content"),
  context: z.int().min(0).max(20).default(0).describe("Lines around each match"),
});

const WARN_AT = 3;
/** Below the size limit of a result, so that the model pages by offset instead of reading a spill file. */
const MAX_CHARS = 80_000;

/** Counts how often the same search runs in a row. */
export class SearchCounter {
  #last: string | undefined;
  #times = 0;

  /** The number of consecutive identical searches, including this one. */
  count(key: string): number {
    this.#times = key === this.#last ? this.#times + 1 : 1;
    this.#last = key;
    return this.#times;
  }

  /** Called before a tool that may change the results. */
  reset(): void {
    this.#last = undefined;
  }
}

/** Finds text in files, or files by name. */
export function createSearchFiles(parts: ToolParts, repeated: SearchCounter): Tool {
  return defineTool({
    name: "search_files",
    toolset: "file",
    description:
      "Search file contents (regular expression) or file names (glob). Skips .git, node_modules and ignored files.",
    input,
    mutates: false,
    effectsOf: ({ path }) => ({ reads: [path] }),
    async run(query, { signal }) {
      const times = repeated.count(JSON.stringify(query));
      if (times > WARN_AT)
        return failed(
          `The same search ran ${WARN_AT} times and nothing has changed since; it was not run again. Change it, or use its results.`,
        );
      const { files } = await parts.openEnvironment(signal);
      const { file_glob: glob, output_mode: output, context: contextLines, ...rest } = query;
      const [found, root] = await Promise.all([
        files.search({ ...rest, glob, output, contextLines }, signal),
        files.stat(query.path, signal),
      ]);
      if (isFileProblem(found)) return failed(await describeProblem(files, found, signal));
      if (found.kind === "pattern-invalid") return failed(`${found.message} ${found.hint}`);
      if (isFileProblem(root)) return failed(await describeProblem(files, root, signal));
      const folder = root.type === "folder" ? root.path : posix.dirname(root.path);
      const isHidden = (file: string): boolean => parts.guards.read(posix.join(folder, file)) !== undefined;
      const redact = (file: string, text: string): string => parts.redact(text, { code: isSourceCode(file) });
      const view = { folder, offset: query.offset, isRepeated: times === WARN_AT, isHidden, redact };
      return ok(render({ ...found, lines: await maskLines(files, folder, found.lines, signal) }, view));
    },
  });
}

type Found = Extract<Awaited<ReturnType<EnvironmentFiles["search"]>>, { kind: "searched" }>;

async function maskLines(
  files: EnvironmentFiles,
  folder: string,
  lines: Found["lines"],
  signal: AbortSignal,
): Promise<Found["lines"]> {
  const masked: Found["lines"][number][] = [];
  for (const path of new Set(lines.map((line) => line.path))) {
    const own = lines.filter((line) => line.path === path);
    masked.push(...(await maskPrivateKeyLines(files, posix.join(folder, path), own, signal)));
  }
  return masked;
}

interface View {
  readonly folder: string;
  readonly offset: number;
  readonly isRepeated: boolean;
  isHidden(file: string): boolean;
  redact(file: string, text: string): string;
}

interface Row {
  readonly file: string;
  readonly text: string;
  /** Whether a row is a result, and not a context line; offsets count only results. */
  readonly counts: boolean;
}

function render(found: Found, { folder, offset, isRepeated, isHidden, redact }: View): string {
  const rows: readonly Row[] = [
    ...found.files.map((file) => ({ file, text: file, counts: true })),
    ...found.counts.map(({ path: file, count }) => ({ file, text: `${file}: ${count}`, counts: true })),
    ...found.lines.map(({ path: file, line, text, isMatch, isCut }) => {
      const mark = isMatch ? ":" : "-";
      const shown = `${redact(file, text)}${isCut ? "…" : ""}`;
      return { file, text: `${file}${mark}${line}${mark}${shown}`, counts: isMatch };
    }),
  ];
  const page = rows.slice(0, countFitting(rows));
  const visible = page.filter(({ file }) => !isHidden(file));
  const hidden = new Set(page.map(({ file }) => file)).size - new Set(visible.map(({ file }) => file)).size;
  const next = offset + page.filter(({ counts }) => counts).length;
  const notes = [
    visible.length === 0 ? `nothing found below ${folder}` : `paths are relative to ${folder}`,
    hidden > 0
      ? `${hidden} protected ${hidden === 1 ? "file is" : "files are"} omitted, which may hold credentials or the state of Hermes`
      : undefined,
    found.hasMore || page.length < rows.length ? `more results: offset ${next}` : undefined,
    found.partialReason,
    isRepeated ? `the same search for the ${WARN_AT}rd time; it will not be run again` : undefined,
  ].filter((note) => note !== undefined);
  return [...visible.map(({ text }) => text), `[${notes.join("; ")}]`].join("\n");
}

function countFitting(rows: readonly Row[]): number {
  let chars = 0;
  const tooMany = rows.findIndex(({ text }) => {
    chars += text.length + 1;
    return chars > MAX_CHARS;
  });
  return tooMany === -1 ? rows.length : tooMany;
}
