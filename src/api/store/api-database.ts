import type { TurnOutcome } from "../../agent/events.ts";
import { openDatabase } from "../../lib/sqlite/database.ts";
import type { Clock } from "../../lib/time/clock.ts";
import type { Usage } from "../../providers/provider.ts";
import { ApiError } from "../api-error.ts";
import type { Caller, Scope } from "../keys/caller.ts";
import { apiMigrations } from "./api-schema.ts";

/** How a run ended. `error`: no turn-end was recorded; `code` says why. */
export interface RunResult {
  readonly outcome: TurnOutcome | "error";
  readonly text: string;
  readonly code: string | undefined;
  readonly reason: string | undefined;
  readonly usage: Usage | undefined;
  readonly costUsd: number | undefined;
}

export type RunKind = "run" | "chat" | "response";

/** A turn that a client of the API started. */
export interface StoredRun {
  /** Also the id of the turn in the transcript of its session. */
  readonly id: string;
  readonly owner: string;
  readonly kind: RunKind;
  /** The model as the client sees it. */
  readonly model: string;
  readonly sessionId: string | undefined;
  /** The process that runs it, as `serialiseIdentity` writes it. */
  readonly holder: string;
  readonly createdAt: number;
  readonly endedAt: number | undefined;
  readonly result: RunResult | undefined;
}

export type NewRun = Pick<StoredRun, "id" | "owner" | "kind" | "model" | "holder">;

/** A key that a client chose so that a repeated request starts nothing, and the hash of the request. */
export interface Idempotency {
  readonly key: string;
  readonly requestHash: string;
}

/** A named key; the key itself is not stored. */
export interface StoredKey {
  readonly name: string;
  readonly scopes: readonly Scope[];
  readonly createdAt: number;
}

/** What `GET /v1/responses/{id}` returns, and where the conversation continues after it. */
export interface StoredResponse {
  readonly id: string;
  readonly sessionId: string;
  /** Number of the last message of the session when the response was complete. */
  readonly lastMessage: number;
  readonly body: object;
}

interface RunRow {
  readonly id: string;
  readonly owner: string;
  readonly kind: RunKind;
  readonly model: string;
  readonly session_id: string | null;
  readonly holder: string;
  readonly created_at: number;
  readonly ended_at: number | null;
  readonly result: string | null;
}

/** For how long an ended run and its idempotency key are kept. */
const KEEP_RUNS_MS = 24 * 60 * 60_000;
const KEEP_RESPONSES = 100;

export type ApiDatabase = Awaited<ReturnType<typeof openApiDatabase>>;

/**
 * What the API keeps beside the sessions. Every query about sessions, runs and responses names their owner, so that no key
 * reaches those of another one.
 */
export async function openApiDatabase(
  path: string,
  { clock }: { readonly clock: Clock },
  signal: AbortSignal,
) {
  const database = await openDatabase(
    path,
    { migrations: apiMigrations, synchronous: "NORMAL", isNeverEmpty: true, clock },
    signal,
  );
  const findKey = database.prepare<{ id: string; name: string; scopes: string }>(
    "select id, name, scopes from api_key where hash = ?",
  );
  const insertKey = database.prepare(`
    insert into api_key (id, name, hash, scopes, created_at) values (:id, :name, :hash, :scopes, hermes_now())`);
  const listKeys = database.prepare<{ name: string; scopes: string; created_at: number }>(
    "select name, scopes, created_at from api_key order by name",
  );
  const deleteKey = database.prepare("delete from api_key where name = ?");
  const findSession = database.prepare<{ session_id: string }>(
    "select session_id from api_session where owner = ? and name = ?",
  );
  const insertSession = database.prepare(`
    insert into api_session (owner, name, session_id, created_at) values (:owner, :name, :sessionId, hermes_now())
    on conflict (owner, name) do update set session_id = excluded.session_id`);
  const findRun = database.prepare<RunRow>("select * from api_run where id = ? and owner = ?");
  const unendedRuns = database.prepare<RunRow>("select * from api_run where ended_at is null");
  const insertRun = database.prepare(`
    insert into api_run (id, owner, kind, model, holder, created_at)
    values (:id, :owner, :kind, :model, :holder, hermes_now())`);
  const deleteRun = database.prepare("delete from api_run where id = ?");
  const forgetRuns = database.prepare(`delete from api_run where ended_at < hermes_now() - ${KEEP_RUNS_MS}`);
  const setRunSession = database.prepare(
    "update api_run set session_id = :sessionId where id = :id and ended_at is null",
  );
  const endRun = database.prepare(
    "update api_run set ended_at = hermes_now(), result = :result where id = :id and ended_at is null",
  );
  const findIdempotent = database.prepare<{ run_id: string; request_hash: string }>(
    "select run_id, request_hash from idempotency_key where owner = ? and key = ?",
  );
  const insertIdempotent = database.prepare(`
    insert into idempotency_key (owner, key, request_hash, run_id) values (:owner, :key, :requestHash, :runId)`);
  const deleteIdempotent = database.prepare("delete from idempotency_key where run_id = ?");
  const findResponse = database.prepare<{ session_id: string; last_message: number; body: string }>(
    "select session_id, last_message, body from api_response where id = ? and owner = ?",
  );
  const useResponse = database.prepare("update api_response set used_at = hermes_now() where id = ?");
  const insertResponse = database.prepare(`
    insert into api_response (id, owner, session_id, last_message, body, used_at)
    values (:id, :owner, :sessionId, :lastMessage, :body, hermes_now())`);
  const forgetResponses = database.prepare(`
    delete from api_response where id in
      (select id from api_response where owner = ? order by used_at desc, id limit -1 offset ${KEEP_RESPONSES})`);
  const deleteResponse = database.prepare("delete from api_response where id = ? and owner = ?");

  const toOwnRun = (owner: string, id: string): StoredRun | undefined => {
    const row = findRun.get(id, owner);
    return row && toRun(row);
  };

  return {
    findKey(hash: string): Caller | undefined {
      const row = findKey.get(hash);
      return row && { id: row.id, name: row.name, scopes: JSON.parse(row.scopes) as Scope[] };
    },
    listKeys: (): readonly StoredKey[] =>
      listKeys.all().map(({ name, scopes, created_at: createdAt }) => ({
        name,
        scopes: JSON.parse(scopes) as Scope[],
        createdAt,
      })),
    /** False if there is no key of that name. What it created stays stored, and nobody can reach it any more. */
    removeKey: (name: string, signal: AbortSignal) =>
      database.write(() => deleteKey.run(name).changes === 1, signal),
    addKey: ({ id, name, scopes }: Caller, hash: string, signal: AbortSignal) =>
      database.write(() => void insertKey.run({ id, name, hash, scopes: JSON.stringify(scopes) }), signal),

    findSession: (owner: string, name: string): string | undefined =>
      findSession.get(owner, name)?.session_id,
    /** Lets the owner continue a session by its id and by the names. */
    addSession: (owner: string, sessionId: string, names: readonly string[], signal: AbortSignal) =>
      database.write(() => {
        for (const name of new Set([sessionId, ...names])) insertSession.run({ owner, name, sessionId });
      }, signal),

    findRun: toOwnRun,
    unendedRuns: (): readonly StoredRun[] => unendedRuns.all().map(toRun),
    /**
     * Stores a new run. If a request with the same idempotency key has started one, stores nothing and returns that run;
     * throws `idempotency_key_conflict` if that request was another one.
     */
    beginRun: (run: NewRun, idempotency: Idempotency | undefined, signal: AbortSignal) =>
      database.write((): { readonly earlier: StoredRun | undefined } => {
        forgetRuns.run();
        if (idempotency !== undefined) {
          const known = findIdempotent.get(run.owner, idempotency.key);
          if (known !== undefined && known.request_hash !== idempotency.requestHash)
            throw new ApiError(
              409,
              "idempotency_key_conflict",
              "This Idempotency-Key was already used for another request.",
            );
          if (known !== undefined) return { earlier: toOwnRun(run.owner, known.run_id) };
        }
        insertRun.run({ ...run });
        if (idempotency !== undefined)
          insertIdempotent.run({ ...idempotency, owner: run.owner, runId: run.id });
        return { earlier: undefined };
      }, signal),
    /** Removes a run that could not be started. */
    dropRun: (id: string, signal: AbortSignal) => database.write(() => void deleteRun.run(id), signal),
    setRunSession: (id: string, sessionId: string, signal: AbortSignal) =>
      database.write(() => void setRunSession.run({ id, sessionId }), signal),
    /** Lets the idempotency key of a run start another one. */
    freeKey: (runId: string, signal: AbortSignal) =>
      database.write(() => void deleteIdempotent.run(runId), signal),
    endRun: (id: string, result: RunResult, signal: AbortSignal) =>
      database.write(() => void endRun.run({ id, result: JSON.stringify(result) }), signal),

    findResponse(owner: string, id: string): StoredResponse | undefined {
      const row = findResponse.get(id, owner);
      if (row === undefined) return undefined;
      const { session_id: sessionId, last_message: lastMessage, body } = row;
      return { id, sessionId, lastMessage, body: JSON.parse(body) as object };
    },
    useResponse: (id: string, signal: AbortSignal) => database.write(() => void useResponse.run(id), signal),
    addResponse: (owner: string, { body, ...response }: StoredResponse, signal: AbortSignal) =>
      database.write(() => {
        insertResponse.run({ ...response, owner, body: JSON.stringify(body) });
        forgetResponses.run(owner);
      }, signal),
    deleteResponse: (owner: string, id: string, signal: AbortSignal) =>
      database.write(() => deleteResponse.run(id, owner).changes === 1, signal),
    [Symbol.dispose]: () => database[Symbol.dispose](),
  };
}

function toRun(row: RunRow): StoredRun {
  const { id, owner, kind, model, holder } = row;
  return {
    ...{ id, owner, kind, model, holder },
    sessionId: row.session_id ?? undefined,
    createdAt: row.created_at,
    endedAt: row.ended_at ?? undefined,
    result: row.result === null ? undefined : (JSON.parse(row.result) as RunResult),
  };
}
