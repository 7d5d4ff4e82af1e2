import type { Leftovers } from "./measure-leftovers.ts";

/** What became of a workspace, and why. */
export type Cleanup =
  | { readonly taskId: string; readonly outcome: "removed"; readonly discarded: Leftovers | undefined }
  | {
      readonly taskId: string;
      readonly outcome: "kept";
      readonly reason: KeepReason;
      readonly detail?: string;
    }
  /** There is none that we have made. */
  | { readonly taskId: string; readonly outcome: "none" };

export type KeepReason =
  | "task-open"
  | "child-open"
  /** Something else stands where our folder was. */
  | "not-ours"
  | "uncommitted"
  | "unpushed"
  | "git-refused"
  /** Tried in vain; the next sweep tries again. */
  | "failed";
