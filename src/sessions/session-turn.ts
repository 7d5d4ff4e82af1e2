import type { AgentEvent } from "../agent/events.ts";
import { AppError, messageOf } from "../lib/errors.ts";
import type { ProcessIdentity } from "../lib/process/process-identity.ts";
import type { Database } from "../lib/sqlite/database.ts";
import type { AcquireResult, Leases } from "../lib/sqlite/lease.ts";
import { formatNear } from "../lib/time/format-time.ts";
import { isDurable, type RecordEvent } from "./record-event.ts";
import { modelColumns } from "./rows/session-rows.ts";
import type { SessionDraft, SessionModel } from "./session.ts";

/** The right to write to one session; its lease is renewed until it is disposed. */
export interface SessionTurn extends AsyncDisposable {
  readonly sessionId: string;
  readonly token: number;
  /** Aborts with `session-lost` when another process has taken over or the lease may expire at any time. */
  readonly lostSignal: AbortSignal;
  /**
   * Commits a durable event and ignores the others. Writes nothing and throws `session-event-refused` if the event
   * contradicts the transcript, `session-lost` if another process has taken over, and `session-gone` if the file was
   * removed.
   */
  record(event: AgentEvent, signal: AbortSignal): Promise<void>;
  /** Stores the state of the session's shell, as JSON without secrets, for the process that resumes the session. */
  keepShell(shell: string, signal: AbortSignal): Promise<void>;
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
  readonly recordEvent: RecordEvent;
  readonly times: TurnTimes;
  readonly afterTurn: (signal: AbortSignal) => Promise<void>;
}

export function turnLeaseName(sessionId: string): string {
  return `turn/${sessionId}`;
}

/** Acquires the session's lease, immediately if its holder has exited; throws `session-busy` while the holder runs. */
export async function acquireTurn(
  { database, leases, recordEvent, times, afterTurn }: TurnParts,
  session: string | SessionDraft,
  identity: ProcessIdentity,
  signal: AbortSignal,
): Promise<SessionTurn> {
  const sessionId = typeof session === "string" ? session : session.id;
  const name = turnLeaseName(sessionId);
  const taken = await leases.acquire(name, identity, times.leaseMs, signal);
  if ("heldBy" in taken) throw createBusyError(database, sessionId, taken, identity);
  const { token } = taken;
  const holds = database.prepare("select 1 from lease where name = ? and token = ?");
  const updateShell = database.prepare("update session set shell = ? where id = ?");
  const updateModel = database.prepare(
    `update session set provider = :provider, model = :model, base_url = :baseUrl,
            keeps_address = :keepsAddress, api_mode = :apiMode where id = :id`,
  );
  const write = (update: () => void, signal: AbortSignal): Promise<void> =>
    database.write(() => {
      if (!database.hasFile()) throw goneError(database.path);
      if (holds.get(name, token) === undefined) throw lostError(sessionId);
      update();
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
    lostSignal: lost.signal,
    async record(event, signal) {
      if (isDurable(event)) await write(() => recordEvent(session, event), signal);
    },
    keepShell: (shell, signal) => write(() => void updateShell.run(shell, sessionId), signal),
    keepModel: (model, signal) =>
      write(() => void updateModel.run({ ...modelColumns(model), id: sessionId }), signal),
    async [Symbol.asyncDispose]() {
      heartbeat.stop();
      const deadline = AbortSignal.timeout(RELEASE_WITHIN_MS);
      await tolerate(leases.release(name, token, deadline), deadline); // if this fails, the lease expires
      await tolerate(afterTurn(deadline), deadline);
    },
  };
}

/** Renews the lease until stopped; calls `onLost` once the lease is lost or cannot be renewed in time. */
function startHeartbeat(
  { leaseMs, renewEveryMs }: TurnTimes,
  renew: () => Promise<boolean>,
  onLost: (cause?: unknown) => void,
): { stop(): void } {
  let renewedAt = performance.now();
  let state: "idle" | "renewing" | "stopped" = "idle";
  const stopHeartbeat = (): void => {
    state = "stopped";
    clearInterval(timer);
  };
  const lose = (cause?: unknown): void => {
    if (state === "stopped") return;
    stopHeartbeat();
    onLost(cause);
  };
  const renewOnce = async (): Promise<void> => {
    const startedAt = performance.now();
    try {
      if (await renew()) renewedAt = startedAt;
      else lose();
    } catch (error) {
      // The database may recover in time, so the lease counts as lost only if it could expire before the next renewal.
      if (performance.now() - renewedAt + renewEveryMs >= leaseMs) lose(error);
    }
    if (state === "renewing") state = "idle";
  };
  const timer = setInterval(() => {
    if (state !== "idle") return;
    state = "renewing";
    void renewOnce();
  }, renewEveryMs).unref();
  return { stop: stopHeartbeat };
}

/** Ignores known failures of optional cleanup at the end of a turn, so that they do not fail the turn. */
async function tolerate(action: Promise<unknown>, deadline: AbortSignal): Promise<void> {
  try {
    await action;
  } catch (error) {
    if (!(error instanceof AppError) && !deadline.aborted) throw error;
  }
}

function lostError(sessionId: string, cause?: unknown): AppError {
  const why = cause === undefined ? "another process has taken over its turn" : messageOf(cause);
  return new AppError("session-lost", `This process no longer holds session ${sessionId}: ${why}.`, {
    cause,
  });
}

function goneError(path: string): AppError {
  return new AppError(
    "session-gone",
    `The transcript of this run can no longer be stored: ${path} was removed during the run.`,
  );
}

/** Names the process that holds the session, and the latest time at which its lease expires. */
export function createBusyError(
  database: Database,
  sessionId: string,
  { heldBy, expiresAt }: Extract<AcquireResult, { readonly heldBy: unknown }>,
  own: ProcessIdentity,
): AppError {
  const now = Date.now();
  const open = database
    .prepare<{ started_at: number }>(`
      select started_at from turn where outcome is null and session_key = (select key from session where id = ?)`)
    .get(sessionId);
  const machine = heldBy.hostId === own.hostId ? "this machine" : `the machine ${heldBy.hostId.slice(0, 8)}`;
  const since = open === undefined ? "" : ` since ${formatNear(open.started_at, now)}`;
  return new AppError(
    "session-busy",
    `Session ${sessionId} is in use by process ${heldBy.pid} on ${machine}${since}.`,
    {
      hint: `Wait until that turn ends, or stop it there. If that process has exited or hangs, the session is free at ${formatNear(expiresAt, now)}.`,
    },
  );
}
