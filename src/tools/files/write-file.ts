import { z } from "zod";
import { writeText } from "../../environments/files/change-files.ts";
import { messageOf } from "../../lib/errors.ts";
import { defineTool, failed } from "../define-tool.ts";
import type { Tool } from "../tool.ts";
import type { ToolParts } from "../tool-parts.ts";
import { createChangeResult } from "./change-result.ts";
import { createChangeScope } from "./change-scope.ts";
import { isUnchangedNote } from "./read-file.ts";
import type { SeenFiles } from "./seen-files.ts";

const input = z.strictObject({
  path: z.string().min(1),
  content: z.string().describe("The whole new content"),
});

export function createWriteFile(parts: ToolParts, seenFiles: SeenFiles): Tool {
  return defineTool({
    name: "write_file",
    toolset: "file",
    description: "Create a file or replace all of it; missing folders are created. For changes use patch.",
    input,
    mutates: true,
    effectsOf: ({ path }) => ({ writes: [path] }),
    async run({ path, content }, { signal }) {
      const refusal = await findRefusal(path, content);
      if (refusal !== undefined) return failed(`${refusal} Nothing was written.`);
      const { files } = await parts.openEnvironment(signal);
      const scope = { ...createChangeScope(parts), digestSeen: (real: string) => seenFiles.known(real) };
      const outcome = await writeText(files, path, content, scope, signal);
      return createChangeResult({ files, seenFiles, redact: parts.redact }, outcome, false, signal);
    },
  });
}

/** Why a text must not be written: it is obviously not meant as the content of the file, or the file would not parse. */
async function findRefusal(path: string, content: string): Promise<string | undefined> {
  if (isUnchangedNote(content))
    return "The content is read_file's note that a page is unchanged, not the page.";
  if (isNumberedDisplay(content))
    return "The content is the output of read_file with its line numbers. Remove NUMBER| at the start of the lines.";
  return findSyntaxProblem(path, content);
}

/** Whether most lines start with consecutive line numbers, as shown by read_file. */
function isNumberedDisplay(content: string): boolean {
  const lines = content.split("\n").filter((line) => line !== "");
  if (lines.length < 3) return false;
  let expected: number | undefined;
  let numbered = 0;
  for (const line of lines) {
    const [, digits] = /^(\d{1,7})\|/.exec(line) ?? [];
    const number = digits === undefined ? undefined : Number(digits);
    if (number !== undefined && (expected === undefined || number === expected)) numbered++;
    expected = number === undefined ? undefined : number + 1;
  }
  return numbered / lines.length >= 0.6;
}

/** Files whose parsers accept comments and trailing commas. */
const RELAXED_JSON =
  /(?:^|\/)(?:(?:ts|js)config[^/]*|\.vscode\/[^/]*|devcontainer|\.eslintrc|\.swcrc)(?:\.json)?$/i;

/** The error of a strict parser. TOML is not checked, because no parser is bundled. */
async function findSyntaxProblem(path: string, content: string): Promise<string | undefined> {
  if (content.trim() === "") return undefined;
  if (/\.json$/i.test(path)) {
    if (RELAXED_JSON.test(path) || /^\s*\/[/*]/m.test(content)) return undefined;
    return findParseError("JSON", () => JSON.parse(content));
  }
  // Templates (Helm, Jinja, Ansible) are valid YAML only after rendering.
  if (!/\.ya?ml$/i.test(path) || /\{\{|\{%/.test(content)) return undefined;
  const { parseAllDocuments } = await import("yaml");
  return findParseError("YAML", () => parseAllDocuments(content).forEach(throwFirstError));
}

function findParseError(language: string, parse: () => unknown): string | undefined {
  try {
    parse();
    return undefined;
  } catch (error) {
    const [reason = ""] = messageOf(error).split("\n");
    return `The content is not valid ${language}: ${reason.replace(/[.:]$/, "")}.`;
  }
}

function throwFirstError({ errors }: { readonly errors: readonly Error[] }): void {
  if (errors[0] !== undefined) throw errors[0];
}
