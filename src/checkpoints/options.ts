import { z } from "zod";

/** Section `checkpoints`: copies of a project's files before each turn that changes them, for `hermes rollback`. */
export const checkpointOptions = z.strictObject({
  enabled: z.boolean().default(false).meta({
    description:
      "Whether the files of the project are saved before the first change of a turn, so that `hermes rollback` can undo it; needs git",
  }),
  max_snapshots: z.int().min(1).default(20).meta({
    description: "Checkpoints that are kept per project",
  }),
  max_days: z.int().min(1).default(7).meta({ description: "Days after which a checkpoint is deleted" }),
  max_file_mb: z.int().min(1).default(10).meta({
    description: "Larger files are not saved, in megabytes",
  }),
  max_files: z.int().min(1).default(50_000).meta({
    description: "A project with more files is not saved",
  }),
  max_total_mb: z.int().min(1).default(500).meta({
    description: "Size of all checkpoints together, in megabytes; the oldest are deleted first",
  }),
});

export type CheckpointOptions = z.infer<typeof checkpointOptions>;
