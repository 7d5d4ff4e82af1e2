import type { Leftovers } from "./measure-leftovers.ts";

/** The result of a cleanup of one workspace. */
export type Cleanup =
  | { readonly taskId: string; readonly outcome: "removed"; readonly discarded: Leftovers | undefined }
  | {
      readonly taskId: string;
      readonly outcome: "kept";
      readonly reason: KeepReason;
      readonly detail?: string;
    }
  /** The task has no workspace that we created. */
  | { readonly taskId: string; readonly outcome: "none" };

export type KeepReason =
  | "task-open"
  | "child-open"
  /** The folder is not the one that we created. */
  | "not-ours"
  | "uncommitted"
  | "unpushed"
  | "git-refused"
  /** The removal failed; the next sweep tries again. */
  | "failed";
