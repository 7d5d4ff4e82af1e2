import type { Status } from "../../../transitions.ts";
import type { BlockCause } from "../../tasks/find-blocks.ts";

/** The facts behind the short reason on a card. */
export interface CardReason {
  readonly kind: "waits" | "next" | "held" | "unassigned" | "scheduled" | "guarded" | "paused" | "claimed";
  /** The first open parent. */
  readonly task: { readonly id: string; readonly seq: number } | null;
  readonly count: number | null;
  readonly until: number | null;
  readonly guard: string | null;
}

/** A text that a person must read before acting: a question, an error, or the reason for a block. */
export interface CardNotice {
  readonly kind: "question" | "failure" | "block";
  readonly text: string;
  readonly cause: BlockCause;
}

/** The open run of a task. */
export interface OpenRun {
  readonly id: number;
  readonly startedAt: number;
  readonly profile: string | null;
  readonly hostId: string | null;
  /** The name that its dispatcher reported. */
  readonly host: string | null;
  readonly sessionId: string | null;
  readonly tokens: number;
  readonly costUsd: number;
}

/** A task as a column of the board shows it; complete without further reads. */
export interface BoardCard {
  readonly id: string;
  readonly seq: number;
  readonly title: string;
  readonly status: Status;
  readonly assignee: string | null;
  readonly reviewer: string | null;
  readonly priority: number;
  readonly tenant: string | null;
  readonly hold: boolean;
  readonly createdAt: number;
  readonly updatedAt: number;
  /** When the task got its status, or the closest known time. */
  readonly since: number;
  readonly reason: CardReason | null;
  readonly notice: CardNotice | null;
  /** Consecutive failures. */
  readonly failures: number;
  /** How many of its parents are done; null without parents. */
  readonly parts: { readonly done: number; readonly total: number } | null;
  readonly comments: number;
  readonly files: number;
  /** The cost of all its runs. */
  readonly costUsd: number;
  readonly run: OpenRun | null;
}

/** The columns of a task that a card needs. */
export interface CardRow {
  readonly id: string;
  readonly seq: number;
  readonly title: string;
  readonly status: Status;
  readonly assignee: string | null;
  readonly reviewer: string | null;
  readonly priority: number;
  readonly tenant: string | null;
  readonly hold: number;
  readonly created_at: number;
  readonly updated_at: number;
  readonly ready_at: number | null;
  readonly completed_at: number | null;
  readonly archived_at: number | null;
  readonly scheduled_at: number | null;
  readonly not_before: number | null;
  readonly triage_reason: string | null;
  readonly last_failure_error: string | null;
  readonly consecutive_failures: number;
  readonly block_sticky: number;
}

export const CARD_COLUMNS = [
  ...["id", "seq", "title", "status", "assignee", "reviewer", "priority", "tenant", "hold"],
  ...["created_at", "updated_at", "ready_at", "completed_at", "archived_at", "scheduled_at", "not_before"],
  ...["triage_reason", "last_failure_error", "consecutive_failures", "block_sticky"],
]
  .map((column) => `t.${column}`)
  .join(", ");
