import { z } from "zod";

/** Section `tool_output`: how much of what a command prints is shown to the model and kept. */
export const toolOutputOptions = z.strictObject({
  // The upper bound is memory: each running command holds this much.
  max_bytes: z.int().min(1).max(10_000_000).default(50_000).meta({
    description: "Bytes of a command's output that are shown: the first 40 % and the last 60 % of them",
  }),
  spill_max_bytes: z.int().min(0).default(5_000_000).meta({
    description: "Bytes of longer output that are kept in a file under cache/terminal-output; 0 keeps none",
  }),
});
