import { z } from "zod";
import { isFileProblem } from "../../environments/files/file-problem.ts";
import { defineTool, failed, ok } from "../define-tool.ts";
import type { Tool, ToolResult } from "../tool.ts";
import type { ToolParts } from "../workspace.ts";
import { describeProblem } from "./read-file.ts";

const input = z.strictObject({
  pattern: z.string().min(1).describe("Regular expression, or a glob for target files"),
  target: z.enum(["content", "files"]).default("content"),
  path: z.string().min(1).default("."),
  file_glob: z.string().optional().describe("Only these files, e.g. *.ts"),
  limit: z.int().min(1).max(1_000).default(50),
  offset: z.int().min(0).default(0),
  output_mode: z.enum(["content", "files_only", "count"]).default("content"),
  context: z.int().min(0).max(20).default(0).describe("Lines around each match"),
});

const WARN_AT = 3;

/** Finds text in files, or files by name. */
export function createSearchFiles(parts: ToolParts): Tool {
  let last = "";
  let times = 0;
  return defineTool({
    name: "search_files",
    toolset: "file",
    description:
      "Search file contents (regular expression) or file names (glob). Skips .git, node_modules and what is ignored.",
    input,
    mutates: false,
    async run(query, { signal }) {
      const key = JSON.stringify(query);
      times = key === last ? times + 1 : 1;
      last = key;
      if (times > WARN_AT)
        return failed(
          "This very search was just made three times; it was not made again. Change it, or use its results.",
        );
      const { files } = await parts.workspace(signal);
      const { file_glob: glob, output_mode: output, context: contextLines, ...rest } = query;
      const found = await files.search({ ...rest, glob, output, contextLines }, signal);
      if (isFileProblem(found)) return failed(await describeProblem(files, found, signal));
      if (found.kind === "pattern-invalid") return failed(`${found.message} ${found.hint}`);
      return render(parts, found, query.offset);
    },
  });
}

type Found = Extract<
  Awaited<ReturnType<import("../../environments/files/environment-files.ts").EnvironmentFiles["search"]>>,
  { kind: "searched" }
>;

function render(parts: ToolParts, found: Found, offset: number): ToolResult {
  const { path, lines, files, counts, hasMore, partial } = found;
  const results = [
    ...files,
    ...counts.map(({ path: file, count }) => `${file}: ${count}`),
    ...lines.map(
      ({ path: file, line, text, isMatch, isCut }) =>
        `${file}${isMatch ? ":" : "-"}${line}${isMatch ? ":" : "-"}${text}${isCut ? "…" : ""}`,
    ),
  ];
  const shown = files.length + counts.length + lines.filter(({ isMatch }) => isMatch).length;
  const notes = [
    results.length === 0 ? `nothing found below ${path}` : `paths are relative to ${path}`,
    hasMore ? `more results: offset ${offset + shown}` : undefined,
    partial,
  ].filter((note) => note !== undefined);
  return ok(
    [...results.map((line) => parts.redact(line, { code: true })), `[${notes.join("; ")}]`].join("\n"),
  );
}
