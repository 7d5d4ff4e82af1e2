import type { Status } from "./transitions.ts";

export const WORKSPACE_KINDS = ["scratch", "dir", "worktree"] as const;
export const BLOCK_KINDS = ["dependency", "needs_input", "capability", "transient"] as const;
export type WorkspaceKind = (typeof WORKSPACE_KINDS)[number];
export type BlockKind = (typeof BLOCK_KINDS)[number];

/** The outcomes of a run, and whether each counts as a failure of its task. */
export const RUN_OUTCOMES = {
  completed: { failure: false },
  blocked: { failure: false },
  scheduled: { failure: false },
  review_requested: { failure: false },
  changes_requested: { failure: false },
  crashed: { failure: true },
  timed_out: { failure: true },
  spawn_failed: { failure: true },
  protocol_violation: { failure: true },
  budget_exhausted: { failure: true },
  gave_up: { failure: true },
  reclaimed: { failure: false },
  released: { failure: false },
  stale: { failure: false },
  rate_limited: { failure: false },
  infra_killed: { failure: false },
} as const satisfies Record<string, { failure: boolean }>;
export type RunOutcome = keyof typeof RUN_OUTCOMES;

/** A task. Field names are the column names and also the keys of the public JSON. Times are in milliseconds. */
export interface Task {
  readonly seq: number;
  readonly id: string;
  readonly title: string;
  readonly body: string | null;
  readonly assignee: string | null;
  readonly status: Status;
  readonly priority: number;
  readonly tenant: string | null;
  readonly created_by: string;
  readonly created_at: number;
  readonly updated_at: number;
  readonly started_at: number | null;
  readonly completed_at: number | null;
  readonly archived_at: number | null;
  /** When the task last became ready. */
  readonly ready_at: number | null;
  readonly workspace_kind: WorkspaceKind;
  readonly workspace_path: string | null;
  readonly branch_name: string | null;
  readonly project_id: string | null;
  readonly idempotency_key: string | null;
  readonly result: string | null;
  readonly consecutive_failures: number;
  readonly last_failure_error: string | null;
  readonly max_runtime_seconds: number | null;
  readonly max_retries: number | null;
  /** Null means not specified; an empty list means explicitly none. */
  readonly skills: readonly string[] | null;
  readonly model_override: string | null;
  readonly provider_override: string | null;
  readonly reasoning_effort: string | null;
  readonly goal_mode: boolean;
  readonly goal_max_turns: number | null;
  readonly block_kind: BlockKind | null;
  readonly block_recurrences: number;
  /** Blocked by a person or a worker, so the dispatcher does not unblock it. */
  readonly block_sticky: boolean;
  readonly session_id: string | null;
  readonly scheduled_at: number | null;
  /** The task is not claimed before this time, for example after a failed attempt. */
  readonly not_before: number | null;
  /** Held by a person: neither promoted nor claimed until a person releases it. */
  readonly hold: boolean;
  readonly triage_reason: string | null;
  readonly workflow_template_id: string | null;
  readonly current_step_key: string | null;
  readonly completion_contract: string;
  /** Whether the next run does the work or reviews it. */
  readonly phase: "work" | "review";
  readonly implementer: string | null;
  readonly reviewer: string | null;
  /** The task whose run created this task. */
  readonly origin_task_id: string | null;
  readonly current_run_id: number | null;
}

/** One attempt at a task. It does not contain the run's token, which only its supervisor and worker know. */
export interface Run {
  readonly id: number;
  readonly task_id: string;
  readonly profile: string | null;
  readonly step_key: string | null;
  readonly source_status: "ready" | "review";
  readonly host_id: string | null;
  readonly supervisor_pid: number | null;
  readonly worker_pid: number | null;
  /** The worker's process identity, in the format of `serialiseIdentity`. */
  readonly worker_identity: string | null;
  readonly lease_ms: number;
  readonly lease_until: number;
  readonly max_runtime_seconds: number | null;
  readonly last_heartbeat_at: number | null;
  readonly started_at: number;
  readonly ended_at: number | null;
  /** The `Caller` kind that ended the run. */
  readonly ended_by: string | null;
  readonly outcome: RunOutcome | null;
  readonly summary: string | null;
  readonly metadata: Readonly<Record<string, unknown>> | null;
  readonly error: string | null;
  readonly session_id: string | null;
  readonly input_tokens: number;
  readonly output_tokens: number;
  readonly cached_tokens: number;
  /** Millionths of a dollar. */
  readonly cost_micros: number;
}

/** Something that happened to a task, or to the board when `task_id` is null; committed together with the change. */
export interface BoardEvent {
  readonly id: number;
  readonly task_id: string | null;
  readonly run_id: number | null;
  readonly kind: string;
  readonly actor: string;
  readonly from_status: Status | null;
  readonly to_status: Status | null;
  readonly payload: Readonly<Record<string, unknown>>;
  readonly created_at: number;
}

export interface Comment {
  readonly id: number;
  readonly task_id: string;
  readonly author: string;
  readonly body: string;
  readonly created_at: number;
}

/** Size limit in bytes. */
export const LARGEST_ATTACHMENT = 25 * 1024 * 1024;

/** Metadata of an attached file. The content is a file next to the database, or in the database when hosts share it. */
export interface Attachment {
  readonly id: number;
  readonly task_id: string;
  readonly filename: string;
  /** Absolute path; only a file name when the content is in the database. */
  readonly stored_path: string;
  /** Key of the content's parts in the database; null when the content is a file. */
  readonly content_key: string | null;
  readonly content_type: string | null;
  readonly size: number;
  /** Hash of the content, in hex; null for attachments of older versions. */
  readonly sha256: string | null;
  readonly uploaded_by: string;
  readonly created_at: number;
}

export interface Subscription {
  readonly task_id: string;
  readonly platform: string;
  readonly chat_id: string;
  readonly thread_id: string;
  readonly user_id: string | null;
  readonly user_id_alt: string | null;
  readonly chat_type: string | null;
  readonly notifier_profile: string | null;
  readonly delivery_mode: "notify" | "notify+wake" | "wake";
  readonly notify_progress: number;
  /** Platform-specific delivery data, as JSON. */
  readonly delivery_metadata: string | null;
  readonly created_at: number;
  /** The last event that was delivered. */
  readonly last_event_id: number;
  readonly last_ping_event_id: number;
}

export interface Board {
  readonly slug: string;
  readonly name: string;
  readonly description: string | null;
  readonly icon: string | null;
  readonly color: string | null;
  readonly default_workdir: string | null;
  readonly paused: boolean;
  readonly created_at: number;
}
