import type {
  Attachment,
  Comment as StoredComment,
  Run as StoredRun,
  Task as StoredTask,
} from "../../../../board/task.ts";
import { RUN_OUTCOMES } from "../../../../board/task.ts";
import type { ChangedTask, Comment, Run, Task, TaskFile } from "../../../contract/tasks.ts";
import type { DashboardBoard } from "../../data/board-data.ts";
import { toCard } from "./card-view.ts";

export function toTask(task: StoredTask): Task {
  const { id, seq, title, body, status, assignee, priority, tenant, hold, result, phase } = task;
  const { implementer, reviewer, skills } = task;
  return {
    ...{ id, seq, title, body, status, assignee, priority, tenant, hold, result, phase },
    ...{ implementer, reviewer },
    skills: skills === null ? null : [...skills],
    createdBy: task.created_by,
    createdAt: task.created_at,
    updatedAt: task.updated_at,
    startedAt: task.started_at,
    completedAt: task.completed_at,
    archivedAt: task.archived_at,
    scheduledAt: task.scheduled_at,
    notBefore: task.not_before,
    failures: task.consecutive_failures,
    lastError: task.last_failure_error,
    blockKind: task.block_kind,
    triageReason: task.triage_reason,
    workspaceKind: task.workspace_kind,
    workspacePath: task.workspace_path,
    branch: task.branch_name,
    model: task.model_override,
    provider: task.provider_override,
    reasoningEffort: task.reasoning_effort,
    maxRuntimeSeconds: task.max_runtime_seconds,
    maxRetries: task.max_retries,
    origin: task.origin_task_id,
    sessionId: task.session_id,
  };
}

/** A changed task with its card, which saves the page a request. */
export async function toChangedTask(
  board: DashboardBoard,
  task: StoredTask,
  signal: AbortSignal,
): Promise<ChangedTask> {
  return { task: toTask(task), card: await toCard(board, task.id, signal) };
}

export function toRun(
  run: StoredRun,
  { host, hasLog }: { readonly host: string | null; readonly hasLog: boolean },
): Run {
  const { id, profile, outcome, summary, error } = run;
  return {
    ...{ id, profile, outcome, summary, error, host, hasLog },
    startedAt: run.started_at,
    endedAt: run.ended_at,
    failed: outcome !== null && RUN_OUTCOMES[outcome].failure,
    sessionId: run.session_id,
    inputTokens: run.input_tokens,
    outputTokens: run.output_tokens,
    cachedTokens: run.cached_tokens,
    costUsd: run.cost_micros / 1_000_000,
  };
}

export function toComment(
  { id, author, body, created_at }: StoredComment,
  readAt: ReadonlyMap<number, number>,
): Comment {
  return { id, author, body, createdAt: created_at, readAt: readAt.get(id) ?? null };
}

export function toFile({ id, filename, size, content_type, uploaded_by, created_at }: Attachment): TaskFile {
  return {
    ...{ id, size },
    name: filename,
    contentType: content_type,
    uploadedBy: uploaded_by,
    createdAt: created_at,
  };
}
