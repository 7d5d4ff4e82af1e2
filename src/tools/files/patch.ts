import { z } from "zod";
import { patchFiles, replaceInFile } from "../../environments/files/change-files.ts";
import { defineTool, failed } from "../define-tool.ts";
import type { Tool } from "../tool.ts";
import type { ToolParts } from "../tool-parts.ts";
import { createChangeResult } from "./change-result.ts";
import { createChangeScope } from "./change-scope.ts";
import type { SeenFiles } from "./seen-files.ts";

const input = z.strictObject({
  mode: z.enum(["replace", "patch"]).optional(),
  path: z.string().min(1).optional(),
  old_string: z.string().optional().describe("Must be unique in the file unless replace_all"),
  new_string: z.string().optional(),
  replace_all: z.boolean().default(false),
  patch: z
    .string()
    .optional()
    .describe(
      "A unified diff, or: *** Begin Patch / *** Update File: a.ts (or Add File, Delete File) / @@ optional line to locate the change / context, -old and +new lines / *** End Patch",
    ),
});

export function createPatch(parts: ToolParts, seenFiles: SeenFiles): Tool {
  return defineTool({
    name: "patch",
    toolset: "file",
    description:
      "Change files: path, old_string and new_string, or a patch of one or more files, applied completely or not at all. Returns the diff.",
    input,
    mutates: true,
    effectsOf: ({ path, patch = "" }) => ({
      writes: [...(path === undefined ? [] : [path]), ...pathsOf(patch)],
    }),
    async run(call, { signal }) {
      const { files } = await parts.openEnvironment(signal);
      const scope = createChangeScope(parts);
      const resultParts = (searched: string) => ({ files, seenFiles, redact: parts.redact, searched });
      // The arguments decide, because models often omit `mode`.
      if (call.patch !== undefined && call.old_string === undefined) {
        const outcome = await patchFiles(files, call.patch, { allowAbsolute: true, ...scope }, signal);
        return createChangeResult(resultParts(call.patch), outcome, true, signal);
      }
      const { path, old_string: oldText, new_string: newText, replace_all: all } = call;
      if (path === undefined || oldText === undefined || newText === undefined)
        return failed("patch needs path, old_string and new_string, or the argument patch.");
      if (oldText === "") return failed("old_string is empty; to create a file use write_file.");
      const outcome = await replaceInFile(files, path, { oldText, newText, all }, scope, signal);
      return createChangeResult(resultParts(oldText), outcome, true, signal);
    },
  });
}

const HEADER =
  /^(?:\*\*\* (?:Update|Add|Delete) File: |\*\*\* Move to: |(?:---|\+\+\+) (?:[ab]\/)?)([^\t\n]+)/gm;

/** The files that a patch names. */
function pathsOf(patch: string): string[] {
  const names = [...patch.matchAll(HEADER)].map(([, name = ""]) => name.trim());
  return [...new Set(names)].filter((name) => name !== "/dev/null");
}
