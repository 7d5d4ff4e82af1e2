import { all, type Steps } from "../../database/steps.ts";
import type { Task } from "../../task.ts";
import { invalidInput, parseAssignee } from "../../task-text.ts";
import { STATUSES, type Status } from "../../transitions.ts";
import { type TaskRow, toTask } from "./rows.ts";

/** Sort orders of a list: the column and its direction. Ties are broken by `seq`. */
export const LIST_ORDERS = {
  priority: { key: "priority", descending: true },
  created: { key: "seq", descending: false },
  "created-desc": { key: "seq", descending: true },
  "priority-asc": { key: "priority", descending: false },
  status: { key: "status", descending: false },
  assignee: { key: "coalesce(assignee, '')", descending: false },
  title: { key: "title", descending: false },
  updated: { key: "updated_at", descending: true },
} as const satisfies Record<string, { key: string; descending: boolean }>;
export type ListOrder = keyof typeof LIST_ORDERS;

export interface ListQuery {
  readonly status?: Status;
  /** Null selects unassigned tasks. */
  readonly assignee?: string | null;
  readonly tenant?: string;
  readonly sessionId?: string;
  readonly workflowTemplateId?: string;
  readonly stepKey?: string;
  readonly includeArchived?: boolean;
  readonly order?: ListOrder;
  readonly limit?: number;
  /** The `next` cursor of the previous page. */
  readonly after?: string;
}

export interface TaskPage {
  readonly tasks: readonly Task[];
  /** Cursor of the next page; undefined on the last page. */
  readonly next: string | undefined;
}

const PAGE = 50;
const LARGEST_PAGE = 1_000;

/** Lists a page of tasks. Paging continues after the last row of the previous page, so concurrent changes skip no task. */
export function* listTasks(query: ListQuery): Steps<TaskPage> {
  const { key, descending } = LIST_ORDERS[query.order ?? "priority"];
  const limit = Math.min(Math.max(1, Math.trunc(query.limit ?? PAGE)), LARGEST_PAGE);
  const { conditions, values } = filterOf(query);
  if (query.after !== undefined) {
    const from = parseCursor(query.after);
    const comparison = descending ? "<" : ">";
    const type = typeof from.key === "string" ? "text" : "bigint";
    const tieBreak = key === "seq" ? "false" : `(${key} = cast(:key as ${type}) and seq > :seq)`;
    conditions.push(`(${key} ${comparison} cast(:key as ${type}) or ${tieBreak})`);
    values["key"] = from.key;
    if (key !== "seq") values["seq"] = from.seq;
  }
  const where = conditions.length === 0 ? "" : `where ${conditions.join(" and ")}`;
  const order = key === "seq" ? `seq ${descending ? "desc" : ""}` : `${key} ${descending ? "desc" : ""}, seq`;
  const rows = yield* all<TaskRow & { sort_key: string | number }>(
    `select *, ${key} as sort_key from task ${where} order by ${order} limit cast(:limit as bigint)`,
    { ...values, limit: limit + 1 },
  );
  const page = rows.slice(0, limit);
  const last = rows.length > limit ? page.at(-1) : undefined;
  return {
    tasks: page.map(({ sort_key: _, ...row }) => toTask(row)),
    next: last === undefined ? undefined : JSON.stringify([last.sort_key, last.seq]),
  };
}

function filterOf(query: ListQuery): { conditions: string[]; values: Record<string, string | number> } {
  const conditions: string[] = [];
  const values: Record<string, string | number> = {};
  const requireEqual = (column: string, value: string | undefined): void => {
    if (value === undefined) return;
    conditions.push(`${column} = :${column}`);
    values[column] = value;
  };
  if (query.status !== undefined && !STATUSES.includes(query.status))
    throw invalidInput(`${query.status} is not a status. Use one of ${STATUSES.join(", ")}.`);
  requireEqual("status", query.status);
  const assignee = query.assignee === undefined ? undefined : parseAssignee(query.assignee);
  if (assignee === null) conditions.push("assignee is null");
  else requireEqual("assignee", assignee);
  requireEqual("tenant", query.tenant);
  requireEqual("session_id", query.sessionId);
  requireEqual("workflow_template_id", query.workflowTemplateId);
  requireEqual("current_step_key", query.stepKey);
  if (query.includeArchived !== true && query.status === undefined) conditions.push("archived_at is null");
  return { conditions, values };
}

export function parseCursor(text: string): { key: string | number; seq: number } {
  const wrong = invalidInput("The page cursor is invalid.");
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw wrong;
  }
  if (!Array.isArray(value)) throw wrong;
  const [key, seq]: unknown[] = value;
  if ((typeof key !== "string" && !Number.isSafeInteger(key)) || !Number.isSafeInteger(seq)) throw wrong;
  return { key: key as string | number, seq: seq as number };
}
