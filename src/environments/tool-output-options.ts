import { z } from "zod";

/** Section `tool_output`: how much of a command's output the model sees and how much is saved. */
export const toolOutputOptions = z.strictObject({
  // Each running command holds this much in memory, hence the upper bound.
  max_bytes: z.int().min(1).max(10_000_000).default(50_000).meta({
    description:
      "Bytes of a command's output to show; of longer output, 40 % are its beginning and 60 % its end",
  }),
  spill_max_bytes: z.int().min(0).default(5_000_000).meta({
    description: "Bytes of longer output to save in a file under cache/terminal-output; 0 saves none",
  }),
});
