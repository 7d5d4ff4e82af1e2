import { z } from "zod";
import { writeText } from "../../environments/files/change-files.ts";
import { messageOf } from "../../lib/errors.ts";
import { defineTool, failed } from "../define-tool.ts";
import type { Tool } from "../tool.ts";
import type { ToolParts } from "../workspace.ts";
import { changeResult } from "./change-result.ts";
import { changeScope } from "./change-scope.ts";
import type { FileMemory } from "./file-memory.ts";
import { isUnchangedNote } from "./read-file.ts";

const input = z.strictObject({
  path: z.string().min(1),
  content: z.string().describe("The whole new content"),
});

/** Gives a file a whole new content. */
export function createWriteFile(parts: ToolParts, memory: FileMemory): Tool {
  return defineTool({
    name: "write_file",
    toolset: "file",
    description: "Create a file or replace all of it; missing folders are made. For changes use patch.",
    input,
    mutates: true,
    async run({ path, content }, { signal }) {
      const refusal = await refusalOf(path, content);
      if (refusal !== undefined) return failed(`${refusal} Nothing was written.`);
      const { files } = await parts.workspace(signal);
      const outcome = await writeText(files, path, content, changeScope(parts), signal);
      return changeResult({ files, memory, redact: parts.redact }, outcome, false, signal);
    },
  });
}

/** Why a text must not go to a file: it is not what the model means to write, or would break what reads the file. */
async function refusalOf(path: string, content: string): Promise<string | undefined> {
  if (isUnchangedNote(content))
    return "The content is the note of read_file that a page is unchanged, not the page.";
  if (isNumberedDisplay(content))
    return "The content is the display of read_file, line numbers included. Leave out NUMBER| at the start of the lines.";
  return syntaxProblem(path, content);
}

/** Whether most lines carry the numbers that read_file shows, one after the other. */
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

/** JSON that its readers take with comments and commas behind the last item. */
const RELAXED_JSON =
  /(?:^|\/)(?:(?:ts|js)config[^/]*|\.vscode\/[^/]*|devcontainer|\.eslintrc|\.swcrc)(?:\.json)?$/i;

/** What a strict reader of the file would complain of. TOML is not looked at: we have no reader for it. */
async function syntaxProblem(path: string, content: string): Promise<string | undefined> {
  if (content.trim() === "") return undefined;
  if (/\.json$/i.test(path)) {
    if (RELAXED_JSON.test(path) || /^\s*\/[/*]/m.test(content)) return undefined;
    return complaint("JSON", () => JSON.parse(content));
  }
  // Templates of YAML (Helm, Jinja, Ansible) become YAML only when they are filled in.
  if (!/\.ya?ml$/i.test(path) || /\{\{|\{%/.test(content)) return undefined;
  const { parseAllDocuments } = await import("yaml");
  return complaint("YAML", () => parseAllDocuments(content).forEach(throwFirstError));
}

function complaint(language: string, read: () => unknown): string | undefined {
  try {
    read();
    return undefined;
  } catch (error) {
    const [reason = ""] = messageOf(error).split("\n");
    return `The content would not be read as ${language}: ${reason.replace(/[.:]$/, "")}.`;
  }
}

function throwFirstError({ errors }: { readonly errors: readonly Error[] }): void {
  if (errors[0] !== undefined) throw errors[0];
}
