import { randomBytes } from "node:crypto";
import { AppError } from "../lib/errors.ts";
import { type ProcessIdentity, serialiseIdentity } from "../lib/process/process-identity.ts";
import type { Database } from "../lib/sqlite/database.ts";
import type { Answer, Approval, NewApproval } from "./approval.ts";
import { type ApprovalRow, COLUMNS, toApproval } from "./approval-row.ts";

/**
 * Questions to a person, shared by all processes of a profile. The database guarantees that a question gets at most one answer
 * and that an approval for one call is used at most once.
 */
export interface ApprovalQueue {
  /** Stores the question, or takes over the waiting question of an exited process for the same call. */
  ask(question: NewApproval, holder: ProcessIdentity, signal: AbortSignal): Promise<Approval>;
  /** Throws `approval-not-found`. Accepts an id or a unique id prefix. */
  require(id: string): Approval;
  /**
   * Answers a waiting question. Throws `approval-answered` if the question has an answer or has expired, and
   * `approval-kind-wrong` if the answer does not fit the kind of the question.
   */
  answer(id: string, answer: Answer, signal: AbortSignal): Promise<Approval>;
  /** Ends a question that no longer needs an answer; does nothing if the question has been answered. */
  close(id: string, state: "expired" | "withdrawn", signal: AbortSignal): Promise<Approval>;
  /** Questions that wait, oldest first. */
  waiting(): readonly Approval[];
  /** All questions since a time, oldest first. */
  since(time: number): readonly Approval[];
  findByCall(sessionId: string, callId: string): Approval | undefined;
  /** Uses an approval of this call that was never used because the process that asked had exited. */
  useGrant(sessionId: string, hash: string, signal: AbortSignal): Promise<Approval | undefined>;
  /** Like `useGrant`, for an answer to a question of the model; also moves the question to this call. */
  takeLateAnswer(
    sessionId: string,
    call: { readonly callId: string; readonly hash: string },
    signal: AbortSignal,
  ): Promise<Approval | undefined>;
  /** Marks the answer to the question of a call as used. */
  use(id: string, signal: AbortSignal): Promise<boolean>;
  /** The rules that answers "for this session" have added. */
  rememberedRules(sessionId: string): readonly string[];
}

export function createApprovalQueue(database: Database): ApprovalQueue {
  const select = (where: string) =>
    database.prepare<ApprovalRow>(
      `select ${COLUMNS} from approval join session on session.key = approval.session_key ${where}`,
    );
  const byId = select("where approval.id = ?");
  const byPrefix = select("where approval.id glob ? order by approval.key limit 2");
  const byCall = select("where session.id = ? and approval.call_id = ? order by approval.key desc limit 1");
  const waitingOf = select("where session.id = ? and approval.hash = ? and approval.state = 'waiting'");
  const unusedOf = select(
    "where session.id = ? and approval.hash = ? and approval.state in ('approved', 'answered') and approval.used_at is null",
  );
  const allWaiting = select(
    "where approval.state = 'waiting' and (approval.ends_at is null or approval.ends_at > hermes_now()) order by approval.key",
  );
  const allSince = database.prepare<ApprovalRow & { readonly is_late: 0 | 1 }>(
    `select ${COLUMNS}, coalesce(state = 'waiting' and ends_at <= hermes_now(), 0) as is_late
       from approval join session on session.key = approval.session_key where approval.asked_at >= ? order by approval.key`,
  );
  const insert = database.prepare(`
    insert into approval (id, session_key, kind, call_id, tool, hash, summary, reason, rule, details, holder, asked_at, ends_at)
    values (:id, (select key from session where id = :sessionId), :kind, :callId, :tool, :hash, :summary, :reason, :rule,
            :details, :holder, hermes_now(), hermes_now() + :timeoutMs)`);
  const takeOver = database.prepare(`
    update approval set holder = :holder, call_id = :callId, ends_at = hermes_now() + :timeoutMs where id = :id`);
  const settle = database.prepare(`
    update approval set state = :state, scope = :scope, answer = :answer, answered_by = :by, answered_at = hermes_now()
     where id = :id and state = 'waiting' and (:mayBeLate = 1 or ends_at is null or ends_at > hermes_now())`);
  const remember = database.prepare(`
    insert into remembered_answer (session_key, rule, approval_key, remembered_at)
    select session_key, :rule, key, hermes_now() from approval where id = :id
    on conflict (session_key, rule) do nothing`);
  const remembered = database.prepare<{ rule: string }>(
    "select rule from remembered_answer where session_key = (select key from session where id = ?)",
  );
  const markUsed = database.prepare(
    "update approval set used_at = hermes_now() where id = ? and state in ('approved', 'answered') and used_at is null",
  );
  const moveToCall = database.prepare("update approval set call_id = :callId where id = :id");

  const find = (id: string): Approval | undefined => {
    const row = byId.get(id);
    return row && toApproval(row);
  };
  const requireExact = (id: string): Approval => {
    const approval = find(id);
    if (approval === undefined) throw notFound(id);
    return approval;
  };

  async function takeUnused(
    sessionId: string,
    hash: string,
    signal: AbortSignal,
    change?: (id: string) => void,
  ): Promise<Approval | undefined> {
    if (unusedOf.get(sessionId, hash) === undefined) return undefined; // the common case, which needs no lock
    return database.write(() => {
      const row = unusedOf.get(sessionId, hash);
      if (row === undefined || markUsed.run(row.id).changes !== 1) return undefined;
      change?.(row.id);
      return requireExact(row.id);
    }, signal);
  }

  return {
    ask: (question, holder, signal) =>
      database.write(() => {
        const { sessionId, hash, callId, timeoutMs = null } = question;
        const owner = serialiseIdentity(holder);
        const waiting = waitingOf.get(sessionId, hash);
        if (waiting !== undefined) {
          takeOver.run({ id: waiting.id, holder: owner, callId, timeoutMs });
          return requireExact(waiting.id);
        }
        const id = newId(find);
        insert.run({
          ...{ id, sessionId, hash, callId, timeoutMs, holder: owner },
          ...{ kind: question.kind, tool: question.tool, summary: question.summary, reason: question.reason },
          rule: question.rule ?? null,
          details: JSON.stringify(question.details),
        });
        return requireExact(id);
      }, signal),
    require(id) {
      const exact = find(id);
      if (exact !== undefined) return exact;
      const [row, other] = /^[a-z0-9_]+$/.test(id) ? byPrefix.all(`${id}*`) : [];
      if (row === undefined) throw notFound(id);
      if (other !== undefined)
        throw new AppError("approval-not-found", `Several questions have an id that begins with ${id}.`, {
          hint: "Type more of the id: `hermes approvals list` shows all.",
        });
      return toApproval(row);
    },
    answer: (id, { verdict, scope = "once", text, by }, signal) =>
      database.write(() => {
        const approval = requireExact(id);
        requireFittingKind(approval, verdict);
        const { changes } = settle.run({
          ...{ id, state: verdict, by, mayBeLate: 0, answer: text ?? null },
          scope: verdict === "approved" ? scope : null,
        });
        if (changes === 0) throw alreadyEnded(approval);
        const rule = approval.details.session?.rule;
        if (verdict === "approved" && scope === "session" && rule !== undefined) remember.run({ id, rule });
        return requireExact(id);
      }, signal),
    close: (id, state, signal) =>
      database.write(() => {
        settle.run({ id, state, by: null, mayBeLate: 1, answer: null, scope: null });
        return requireExact(id);
      }, signal),
    waiting: () => allWaiting.all().map(toApproval),
    // A question remains `waiting` after its deadline if the process that would have closed it was killed.
    since: (time) =>
      allSince
        .all(time)
        .map(({ is_late, ...row }) => toApproval(is_late === 1 ? { ...row, state: "expired" } : row)),
    findByCall(sessionId, callId) {
      const row = byCall.get(sessionId, callId);
      return row && toApproval(row);
    },
    useGrant: (sessionId, hash, signal) => takeUnused(sessionId, hash, signal),
    takeLateAnswer: (sessionId, { callId, hash }, signal) =>
      takeUnused(sessionId, hash, signal, (id) => moveToCall.run({ id, callId })),
    use: (id, signal) => database.write(() => markUsed.run(id).changes === 1, signal),
    rememberedRules: (sessionId) => remembered.all(sessionId).map(({ rule }) => rule),
  };
}

/** Creates an id that is short enough to type; tries again if the id is in use. */
function newId(find: (id: string) => unknown): string {
  for (;;) {
    const id = `a_${randomBytes(3).toString("hex")}`;
    if (find(id) === undefined) return id;
  }
}

function notFound(id: string): AppError {
  return new AppError("approval-not-found", `There is no question ${id}.`);
}

function requireFittingKind({ id, kind }: Approval, verdict: Answer["verdict"]): void {
  if (kind === "approval" && verdict === "answered")
    throw new AppError(
      "approval-kind-wrong",
      `${id} asks whether a call may run, so it cannot be answered with text.`,
      {
        hint: `Use \`hermes approvals approve ${id}\` or \`hermes approvals deny ${id} REASON\`.`,
      },
    );
  if (kind === "clarification" && verdict !== "answered")
    throw new AppError(
      "approval-kind-wrong",
      `${id} is a question of the model, not a call to ${verdict === "approved" ? "approve" : "deny"}.`,
      {
        hint: `Answer it with \`hermes approvals answer ${id} TEXT\`.`,
      },
    );
}

function alreadyEnded({ id, state, answeredBy, endsAt }: Approval): AppError {
  const by = answeredBy === undefined ? "" : ` by ${answeredBy}`;
  const what =
    state !== "waiting" ? `was already ${state}${by}` : `expired at ${new Date(endsAt ?? 0).toISOString()}`;
  return new AppError("approval-answered", `The question ${id} ${what}; nothing was changed.`);
}
