import { posix } from "node:path";
import { z } from "zod";
import type { EnvironmentFiles } from "../../environments/files/environment-files.ts";
import { isFileProblem } from "../../environments/files/file-problem.ts";
import { defineTool, failed, ok } from "../define-tool.ts";
import type { Tool } from "../tool.ts";
import type { ToolParts } from "../workspace.ts";
import { holdsCredentials } from "./credential-files.ts";
import { describeProblem } from "./describe-problem.ts";
import type { RepeatedSearch } from "./repeated-search.ts";
import { holdsSettings } from "./settings-file.ts";

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
/** Less than a result may have, so that the rest is asked for by its offset and not lost in a file. */
const MOST_CHARS = 80_000;

/** Finds text in files, or files by name. */
export function createSearchFiles(parts: ToolParts, repeated: RepeatedSearch): Tool {
  return defineTool({
    name: "search_files",
    toolset: "file",
    description:
      "Search file contents (regular expression) or file names (glob). Skips .git, node_modules and what is ignored.",
    input,
    mutates: false,
    async run(query, { signal }) {
      const times = repeated.count(JSON.stringify(query));
      if (times > WARN_AT)
        return failed(
          `This very search was made ${WARN_AT} times and nothing was changed since; it was not made again. Change it, or use its results.`,
        );
      const { files } = await parts.workspace(signal);
      const { file_glob: glob, output_mode: output, context: contextLines, ...rest } = query;
      const [found, root] = await Promise.all([
        files.search({ ...rest, glob, output, contextLines }, signal),
        files.stat(query.path, signal),
      ]);
      if (isFileProblem(found)) return failed(await describeProblem(files, found, signal));
      if (found.kind === "pattern-invalid") return failed(`${found.message} ${found.hint}`);
      if (isFileProblem(root)) return failed(await describeProblem(files, root, signal));
      const folder = root.type === "folder" ? root.path : posix.dirname(root.path);
      const isHidden = (file: string): boolean => holdsCredentials(posix.join(folder, file), parts.home);
      const redact = (file: string, text: string): string =>
        holdsSettings(file) ? parts.redact(text) : text;
      const view = { folder, offset: query.offset, isRepeated: times === WARN_AT, isHidden, redact };
      return ok(render(found, view));
    },
  });
}

type Found = Extract<Awaited<ReturnType<EnvironmentFiles["search"]>>, { kind: "searched" }>;

interface View {
  readonly folder: string;
  readonly offset: number;
  readonly isRepeated: boolean;
  isHidden(file: string): boolean;
  /** A line of a file as the model may see it. */
  redact(file: string, text: string): string;
}

interface Row {
  readonly file: string;
  readonly text: string;
  /** Whether it is one of the results that offsets count, and not a line around one. */
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
  const open = page.filter(({ file }) => !isHidden(file));
  const hidden = new Set(page.map(({ file }) => file)).size - new Set(open.map(({ file }) => file)).size;
  const next = offset + page.filter(({ counts }) => counts).length;
  const notes = [
    open.length === 0 ? `nothing found below ${folder}` : `paths are relative to ${folder}`,
    hidden > 0 ? `${hidden} files that may hold credentials are left out` : undefined,
    found.hasMore || page.length < rows.length ? `more results: offset ${next}` : undefined,
    found.partial,
    isRepeated ? `the same search for the ${WARN_AT}rd time; it will not be made again` : undefined,
  ].filter((note) => note !== undefined);
  return [...open.map(({ text }) => text), `[${notes.join("; ")}]`].join("\n");
}

function countFitting(rows: readonly Row[]): number {
  let chars = 0;
  const tooMany = rows.findIndex(({ text }) => {
    chars += text.length + 1;
    return chars > MOST_CHARS;
  });
  return tooMany === -1 ? rows.length : tooMany;
}
