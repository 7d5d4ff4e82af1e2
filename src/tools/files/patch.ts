import { z } from "zod";
import { patchFiles, replaceInFile } from "../../environments/files/change-files.ts";
import { defineTool, failed } from "../define-tool.ts";
import type { Tool } from "../tool.ts";
import type { ToolParts } from "../workspace.ts";
import { changeResult } from "./change-result.ts";
import { changeScope } from "./change-scope.ts";
import type { FileMemory } from "./file-memory.ts";

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
      "A unified diff, or: *** Begin Patch / *** Update File: a.ts (or Add File, Delete File) / @@ optional line to find the place / context, -old and +new lines / *** End Patch",
    ),
});

/** Changes a part of a file, or several files by one patch: all of it or nothing. */
export function createPatch(parts: ToolParts, memory: FileMemory): Tool {
  return defineTool({
    name: "patch",
    toolset: "file",
    description:
      "Change files: path, old_string and new_string, or a patch of one or more files, applied whole or not at all. Returns the diff.",
    input,
    mutates: true,
    async run(call, { signal }) {
      const { files } = await parts.workspace(signal);
      const scope = changeScope(parts);
      const told = (searched: string) => ({ files, memory, redact: parts.redact, searched });
      // What is given says more than the mode, which models often leave out.
      if (call.patch !== undefined && call.old_string === undefined) {
        const outcome = await patchFiles(files, call.patch, { allowAbsolute: true, ...scope }, signal);
        return changeResult(told(call.patch), outcome, true, signal);
      }
      const { path, old_string: oldText, new_string: newText, replace_all: all } = call;
      if (path === undefined || oldText === undefined || newText === undefined)
        return failed("patch needs path, old_string and new_string, or the argument patch.");
      if (oldText === "") return failed("old_string is empty; to create a file use write_file.");
      const outcome = await replaceInFile(files, path, { oldText, newText, all }, scope, signal);
      return changeResult(told(oldText), outcome, true, signal);
    },
  });
}
