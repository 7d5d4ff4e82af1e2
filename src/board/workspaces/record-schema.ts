import { z } from "zod";

export const recordSchema = z.object({
  kind: z.enum(["scratch", "worktree"]),
  path: z.string(),
  /** The identity of the complete folder; null while it is being created, or if the creation was interrupted. */
  identity: z.string().nullable(),
  worktree: z.object({ repository: z.string(), branch: z.string(), madeBranch: z.boolean() }).optional(),
});

/** Proves that we created a folder. Stored outside of the folder, because a worker expects an empty folder. */
export type WorkspaceRecord = z.infer<typeof recordSchema>;
