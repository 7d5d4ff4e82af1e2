import type { AgentEvent } from "../agent/events.ts";
import type { Database } from "../lib/database.ts";
import { AppError, messageOf } from "../lib/errors.ts";
import type { AcquireResult, Leases } from "../lib/lease.ts";
import type { ProcessIdentity } from "../lib/process-identity.ts";
import { type EventRecorder, isDurable } from "./record-event.ts";
import type { SessionDraft, SessionModel } from "./session.ts";

/** The right to add to one session, held until disposed and renewed meanwhile. */
export interface SessionTurn extends AsyncDisposable {
  readonly sessionId: string;
  readonly token: number;
  /** Aborts with `session-lost` when another process has taken over, or may do so at any moment. */
  readonly lost: AbortSignal;
  /**
   * Commits a durable event and ignores the others. What does not fit the transcript is refused with
   * `session-event-refused`, what comes from a holder that was replaced with `session-lost`, and anything with
   * `session-gone` when the file is no longer there; none of them changes anything.
   */
  record(event: AgentEvent, signal: AbortSignal): Promise<void>;
  /** Stores the state of the session's shell, JSON without secrets, for the process that goes on with it. */
  keepShell(shell: string, signal: AbortSignal): Promise<void>;
  /** Makes a model the one that the session goes on with. */
  keepModel(model: SessionModel, signal: AbortSignal): Promise<void>;
}

export interface TurnTimes {
  readonly leaseMs: number;
  readonly renewEveryMs: number;
}

export const TURN_TIMES: TurnTimes = { leaseMs: 30_000, renewEveryMs: 10_000 };
const RELEASE_WITHIN_MS = 5_000;

interface TurnParts {
  readonly database: Database;
  readonly leases: Leases;
  readonly recorder: EventRecorder;
  readonly times: TurnTimes;
  /** Runs after the lease was given back. */
  readonly afterwards: (signal: AbortSignal) => Promise<void>;
}

export function turnLeaseName(sessionId: string): string {
  return `turn/${sessionId}`;
}

/** Takes the session for this process, at once if its holder is provably dead; throws `session-busy` while it lives. */
export async function acquireTurn(
  { database, leases, recorder, times, afterwards }: TurnParts,
  session: string | SessionDraft,
  identity: ProcessIdentity,
  signal: AbortSignal,
): Promise<SessionTurn> {
  const sessionId = typeof session === "string" ? session : session.id;
  const name = turnLeaseName(sessionId);
  const taken = await leases.acquire(name, identity, times.leaseMs, signal);
  if ("heldBy" in taken) throw busyError(database, sessionId, taken, identity);
  const { token } = taken;
  const holds = database.prepare("select 1 from lease where name = ? and token = ?");
  const updateShell = database.prepare("update session set shell = ? where id = ?");
  const updateModel = database.prepare(
    "update session set provider = :provider, model = :model, base_url = :baseUrl where id = :id",
  );
  const write = (change: () => void, signal: AbortSignal): Promise<void> =>
    database.write(() => {
      if (!database.hasFile()) throw goneError(database.path);
      if (holds.get(name, token) === undefined) throw lostError(sessionId);
      change();
    }, signal);
  const lost = new AbortController();
  const heartbeat = startHeartbeat(
    times,
    () => leases.renew(name, token, lost.signal),
    (cause) => lost.abort(lostError(sessionId, cause)),
  );
  return {
    sessionId,
    token,
    lost: lost.signal,
    async record(event, signal) {
      if (isDurable(event)) await write(() => recorder.record(session, event), signal);
    },
    keepShell: (shell, signal) => write(() => void updateShell.run(shell, sessionId), signal),
    keepModel: ({ provider, model, baseUrl }, signal) =>
      write(() => void updateModel.run({ provider, model, baseUrl: baseUrl ?? null, id: sessionId }), signal),
    async [Symbol.asyncDispose]() {
      heartbeat.stop();
      const deadline = AbortSignal.timeout(RELEASE_WITHIN_MS);
      await tolerate(leases.release(name, token, deadline), deadline); // else it ends by itself
      await tolerate(afterwards(deadline), deadline);
    },
  };
}

/** Renews until it is stopped; `onLost` is called when that is no longer possible. */
function startHeartbeat(
  { leaseMs, renewEveryMs }: TurnTimes,
  renew: () => Promise<boolean>,
  onLost: (cause?: unknown) => void,
): { stop(): void } {
  let renewedAt = performance.now();
  let state: "idle" | "renewing" | "stopped" = "idle";
  const stop = (): void => {
    state = "stopped";
    clearInterval(timer);
  };
  const lose = (cause?: unknown): void => {
    if (state === "stopped") return;
    stop();
    onLost(cause);
  };
  const beat = async (): Promise<void> => {
    const startedAt = performance.now();
    try {
      if (await renew()) renewedAt = startedAt;
      else lose();
    } catch (error) {
      // The database may be back in time; only a lease that could end before the next beat is lost.
      if (performance.now() - renewedAt + renewEveryMs >= leaseMs) lose(error);
    }
    if (state === "renewing") state = "idle";
  };
  const timer = setInterval(() => {
    if (state !== "idle") return;
    state = "renewing";
    void beat();
  }, renewEveryMs).unref();
  return { stop };
}

/** For what a turn does at its end and can leave undone, so that no failure of it becomes one of the turn. */
async function tolerate(action: Promise<unknown>, deadline: AbortSignal): Promise<void> {
  try {
    await action;
  } catch (error) {
    if (!(error instanceof AppError) && !deadline.aborted) throw error;
  }
}

function lostError(sessionId: string, cause?: unknown): AppError {
  const why = cause === undefined ? "another process has taken over its turn" : messageOf(cause);
  return new AppError("session-lost", `Session ${sessionId} is no longer ours: ${why}.`, { cause });
}

function goneError(path: string): AppError {
  return new AppError(
    "session-gone",
    `The transcript of this run can no longer be stored: ${path} was removed meanwhile.`,
  );
}

/** Who is in the way, and until when at most. */
export function busyError(
  database: Database,
  sessionId: string,
  { heldBy, expiresAt }: Extract<AcquireResult, { readonly heldBy: unknown }>,
  own: ProcessIdentity,
): AppError {
  const open = database
    .prepare<{ started_at: number }>(`
      select started_at from turn where outcome is null and session_key = (select key from session where id = ?)`)
    .get(sessionId);
  const place = heldBy.hostId === own.hostId ? "this machine" : `the machine ${heldBy.hostId.slice(0, 8)}`;
  const since = open === undefined ? "" : ` since ${new Date(open.started_at).toISOString()}`;
  return new AppError(
    "session-busy",
    `Session ${sessionId} is being worked on by process ${heldBy.pid} on ${place}${since}.`,
    {
      hint: `Wait until that turn is over, or stop it there; without a sign of life it is free at ${new Date(expiresAt).toISOString()}.`,
    },
  );
}
