import { posix } from "node:path";
import { z } from "zod";
import { isFileProblem } from "../../environments/files/file-problem.ts";
import { defineTool, failed, ok } from "../define-tool.ts";
import type { Tool } from "../tool.ts";
import type { FileSending, ToolParts } from "../tool-parts.ts";
import { describeProblem } from "./describe-problem.ts";

const input = z.strictObject({
  path: z.string().min(1),
  caption: z.string().max(1_000).optional().describe("Text below the file"),
});

/** Sends a file to the people of the chat, under the rules for reading files and stricter ones. */
export function createSendFile(parts: ToolParts, sending: FileSending): Tool {
  return defineTool({
    name: "send_file",
    toolset: "file",
    description: "Send a file to the user in the chat.",
    input,
    mutates: true,
    effectsOf: ({ path }) => ({ reads: [path] }),
    async run({ path, caption }, { callId, signal }) {
      const { files } = await parts.openEnvironment(signal);
      const read = await files.readBytes(path, sending.maxBytes, signal);
      if (isFileProblem(read)) {
        if (read.kind !== "too-large") return failed(await describeProblem(files, read, signal));
        return failed(
          `${read.path} is larger than ${sending.maxBytes} bytes, which is the most that can be sent here.`,
        );
      }
      // Check the real path, which is known only after reading.
      const refusal = parts.guards.send(read.path);
      if (refusal !== undefined) return failed(refusal);
      if (read.bytes.length === 0) return failed(`${read.path} is empty; empty files are not sent.`);
      const name = posix.basename(path);
      await sending.send({ owner: parts.owner, callId, name, bytes: read.bytes, caption }, signal);
      return ok(`Sent ${read.path} (${read.bytes.length} bytes).`);
    },
  });
}
