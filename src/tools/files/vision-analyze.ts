import { z } from "zod";
import { isFileProblem } from "../../environments/files/file-problem.ts";
import { defineTool, failed, ok } from "../define-tool.ts";
import type { Tool } from "../tool.ts";
import type { ToolParts, Vision } from "../tool-parts.ts";
import { describeProblem } from "./describe-problem.ts";

const input = z.strictObject({
  path: z.string().min(1),
  question: z.string().min(1).max(4_000),
});

/** Answers a question about an image file, with the session's model or the model for descriptions of images. */
export function createVisionAnalyze(parts: ToolParts, vision: Vision): Tool {
  return defineTool({
    name: "vision_analyze",
    toolset: "vision",
    description: "Look at an image file (PNG, JPEG, GIF, WebP) and answer a question about it.",
    input,
    mutates: false,
    effectsOf: ({ path }) => ({ reads: [path] }),
    async run({ path, question }, { signal }) {
      const { files } = await parts.openEnvironment(signal);
      const read = await files.readBytes(path, vision.maxBytes, signal);
      if (isFileProblem(read)) return failed(await describeProblem(files, read, signal));
      // Check the real path, which is known only after reading.
      const refusal = parts.guards.read(read.path);
      if (refusal !== undefined) return failed(refusal);
      return ok(`${await vision.look(read.bytes, question, signal)}\n[${read.path}]`);
    },
  });
}
