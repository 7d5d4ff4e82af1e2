import { randomBytes } from "node:crypto";
import type { AgentEvent, TurnOutcome } from "../../agent/events.ts";
import type { Exchange } from "../../conversation/conversation.ts";
import type { Surface } from "../../conversation/conversation-request.ts";
import { AppError, messageOf } from "../../lib/errors.ts";
import { checkLiveness, parseIdentity, serialiseIdentity } from "../../lib/process/process-identity.ts";
import { isHealedByTime } from "../../lib/sqlite/database-error.ts";
import { systemClock } from "../../lib/time/clock.ts";
import { neverAborted } from "../../lib/time/never-aborted.ts";
import type { ImagePart } from "../../providers/message.ts";
import type { FoundTurn } from "../../sessions/rows/find-turn.ts";
import type { Tool } from "../../tools/tool.ts";
import type { HostedTurn, HostedTurnResult } from "../../turns/turn-host.ts";
import { ApiError, toApiError } from "../api-error.ts";
import type { ApiParts } from "../api-parts.ts";
import type { Caller } from "../keys/caller.ts";
import type { Idempotency, RunKind, RunResult, StoredRun } from "../store/api-database.ts";

export interface RunRequest {
  readonly id: string;
  readonly kind: RunKind;
  readonly caller: Caller;
  /** The model that the client named. */
  readonly model: string | undefined;
  /** The session to continue by a name of the caller; a name that is not known yet starts a new session. */
  readonly sessionName: string | undefined;
  /** Instructions of the client: part of the prompt of a new session, a note to the message of a known one. */
  readonly instructions: string;
  readonly earlier: readonly Exchange[];
  readonly text: string;
  readonly images: readonly ImagePart[];
  /** Whether approvals wait for an answer of the client; otherwise such calls are denied. */
  readonly canAsk: boolean;
  /** Further tools of the run. */
  readonly tools?: readonly Tool[];
  readonly idempotency: Idempotency | undefined;
  /** Called with each event in order. */
  onEvent?(event: AgentEvent): void;
  /** Called before the end of the run is stored. */
  onEnd?(run: ApiRun, result: RunResult): Promise<void>;
}

/** A run of the API, in progress or ended. */
export interface ApiRun {
  readonly id: string;
  readonly model: string;
  readonly createdAt: number;
  /** Whether an earlier request with the same idempotency key started it. */
  readonly isReplay: boolean;
  /** Undefined when the turn ended a while ago or belonged to another process. */
  readonly turn: HostedTurn | undefined;
  /** How it ended; undefined while another process runs it. */
  readonly ended: Promise<RunResult | undefined>;
  /** What is stored about it now. */
  stored(): StoredRun | undefined;
}

const INSTRUCTIONS =
  "You answer a program or a person through an HTTP API. Nobody may be watching, so decide for yourself and say what you assumed.";
const SURFACE: Omit<Surface, "instructions" | "whenApprovalNeeded"> = {
  source: "api",
  canNotify: false,
  takesNotes: true,
  haltsLoops: true,
  showsText: true,
  titledBy: "message",
};
/** Our own session ids; a client cannot choose such a name for a new session. */
const SESSION_ID = /^\d{8}_\d{6}_[\da-f]{6}$/;
const RETRY_STORE_MS = 2_000;

export function createRunId(): string {
  return `run_${randomBytes(12).toString("hex")}`;
}

/** Starts and finds runs. Only the caller who started a run can find it. */
export type ApiRuns = ReturnType<typeof createApiRuns>;

export function createApiRuns(parts: ApiParts) {
  const { host, database, sessions, options, modelName, identity, limits, onError } = parts;
  const closing = new AbortController();
  const running = new Map<string, Promise<RunResult>>();
  /** Runs that are stored and whose turns are about to start. */
  const starting = new Map<string, Promise<unknown>>();
  /** Names whose first turn is about to create their session. */
  const naming = new Map<string, Promise<unknown>>();

  /** The model that answers for the name that a client gave. */
  function chooseRoute(name: string | undefined) {
    if (name === undefined || name === modelName) return {};
    const model = Object.hasOwn(options.model_routes, name) ? options.model_routes[name] : undefined;
    if (model !== undefined) return { model };
    if (options.direct_model_requests) return { model: name };
    throw new ApiError(404, "model_not_found", `There is no model ${name}; see GET /v1/models.`, "model");
  }

  async function start(request: RunRequest): Promise<ApiRun> {
    const { id, kind, caller, model = modelName, idempotency } = request;
    const route = chooseRoute(request.model);
    const run = { id, owner: caller.id, kind, model, holder: serialiseIdentity(identity) };
    let finish = (): void => undefined;
    const started = new Promise<void>((resolve) => {
      finish = resolve;
    });
    starting.set(id, started); // before another request can find the row
    try {
      const { earlier } = await database.beginRun(run, idempotency, neverAborted);
      if (earlier === undefined) return await startStored(request, route);
      await starting.get(earlier.id);
      const known = database.findRun(caller.id, earlier.id);
      return known === undefined ? await start({ ...request, id: createRunId() }) : toRun(known, true);
    } finally {
      starting.delete(id);
      finish();
    }
  }

  async function startStored(request: RunRequest, route: object): Promise<ApiRun> {
    const { id, caller } = request;
    try {
      if (options.max_concurrent_runs > 0 && running.size >= options.max_concurrent_runs)
        throw new ApiError(429, "too_many_runs", `${running.size} runs are in progress; try again later.`);
      const turn = await startTurn(id, request, route);
      const tracked = track(id, turn, request);
      running.set(id, tracked);
      void tracked.catch(onError).then(() => running.delete(id));
      const stored = database.findRun(caller.id, id);
      if (stored === undefined) throw new Error(`run ${id} was not stored`);
      return toRun(stored, false);
    } catch (error) {
      await database.dropRun(id, neverAborted);
      throw error;
    }
  }

  async function startTurn(id: string, request: RunRequest, route: object): Promise<HostedTurn> {
    const { caller, sessionName, instructions, earlier, text, images, canAsk } = request;
    const slot = sessionName === undefined ? undefined : `${caller.id} ${sessionName}`;
    while (slot !== undefined && naming.has(slot)) await naming.get(slot);
    const sessionId = sessionName === undefined ? undefined : database.findSession(caller.id, sessionName);
    if (sessionId === undefined && sessionName !== undefined && SESSION_ID.test(sessionName))
      throw new ApiError(404, "session_not_found", `There is no session ${sessionName}.`);
    const isNew = sessionId === undefined;
    const turn = host.start({
      id,
      sessionId,
      whenBusy: "wait",
      isSingle: sessionName === undefined,
      opening: {
        surface: {
          ...SURFACE,
          instructions: isNew && instructions !== "" ? `${INSTRUCTIONS}\n\n${instructions}` : INSTRUCTIONS,
          whenApprovalNeeded: canAsk ? "ask" : "deny",
          tools: request.tools,
        },
        model: route,
        earlier: isNew ? earlier : undefined,
      },
      message: {
        text,
        images,
        notes: !isNew && instructions !== "" ? [`[Instructions for this answer: ${instructions}]`] : [],
      },
      limits,
    });
    if (slot !== undefined && isNew) {
      const bound = firstEvent(turn).finally(() => naming.delete(slot));
      naming.set(slot, bound);
    }
    return turn;
  }

  /** Stores the end of a run once there is space on the disk. If the server ends before, the next one finds the end in the session. */
  async function storeLater(id: string, result: RunResult): Promise<void> {
    for (;;) {
      await systemClock.sleep(RETRY_STORE_MS, closing.signal);
      try {
        return await database.endRun(id, result, closing.signal);
      } catch (error) {
        if (!isHealedByTime(error)) throw error;
      }
    }
  }

  /** Stores the progress and the end of a turn. If that fails, the answer still reaches the client. */
  async function track(id: string, turn: HostedTurn, request: RunRequest): Promise<RunResult> {
    const owner = request.caller.id;
    const store = async (write: () => Promise<unknown>): Promise<void> => {
      try {
        await write();
      } catch (error) {
        onError(error);
      }
    };
    for await (const item of turn.watch(0, neverAborted)) {
      if ("dropped" in item) continue;
      const { event } = item;
      if (event.type === "turn-start") {
        const { sessionId } = await turn.opened;
        const names = request.sessionName === undefined ? [] : [request.sessionName];
        await store(() => database.addSession(owner, sessionId, names, neverAborted));
        await store(() => database.setRunSession(id, sessionId, neverAborted));
      }
      request.onEvent?.(event);
    }
    const result = toResult(await turn.ended);
    const stored = database.findRun(owner, id);
    if (stored !== undefined && request.onEnd !== undefined) {
      const { onEnd } = request;
      await store(() => onEnd(toRun(stored, false), result));
    }
    try {
      await database.endRun(id, result, neverAborted);
    } catch (error) {
      onError(error);
      if (isHealedByTime(error))
        storeLater(id, result).catch((late: unknown) => {
          if (!closing.signal.aborted) onError(late);
        });
    }
    return result;
  }

  function toRun(run: StoredRun, isReplay: boolean): ApiRun {
    const { id, owner, model, createdAt } = run;
    return {
      ...{ id, model, createdAt, isReplay },
      turn: host.find(id),
      ended: running.get(id) ?? Promise.resolve(run.result),
      stored: () => database.findRun(owner, id),
    };
  }

  /** Records the ends of runs whose processes have exited, as far as their turns got. */
  async function settleInterrupted(signal: AbortSignal): Promise<void> {
    for (const run of database.unendedRuns()) {
      const holder = parseIdentity(run.holder);
      if (holder !== undefined && (await checkLiveness(holder, signal)) !== "dead") continue;
      const turn = sessions.findTurn(run.id, run.createdAt);
      if (turn === undefined) await database.freeKey(run.id, signal); // nothing was done, so a repeated request may do it
      await database.endRun(run.id, interruptedResult(turn), signal);
    }
  }

  function interruptedResult(turn: FoundTurn | undefined): RunResult {
    const unknown = { usage: undefined, costUsd: undefined };
    if (turn?.outcome !== undefined)
      return {
        outcome: turn.outcome as TurnOutcome,
        text: turn.text,
        code: undefined,
        reason: turn.reason,
        ...unknown,
      };
    const reason =
      turn === undefined
        ? "The server ended before this run began; send the request again."
        : "The server ended while this run was in progress. A new message to its session continues it.";
    return { outcome: "error", text: turn?.text ?? "", code: "run_interrupted", reason, ...unknown };
  }

  return {
    start,
    settleInterrupted,
    find(caller: Caller, id: string): ApiRun | undefined {
      const run = database.findRun(caller.id, id);
      return run && toRun(run, false);
    },
    /** Throws `run_not_found`, also for a run of another key. */
    require(caller: Caller, id: string): ApiRun {
      const run = database.findRun(caller.id, id);
      if (run === undefined) throw new ApiError(404, "run_not_found", `There is no run ${id}.`);
      return toRun(run, false);
    },
    active: (): number => running.size,
    /** Resolves when the ends of all runs are stored, except those for which there is no space. */
    allStored: async (): Promise<void> => {
      await Promise.all(running.values());
      closing.abort();
    },
  };
}

async function firstEvent(turn: HostedTurn): Promise<void> {
  for await (const item of turn.watch(0, neverAborted)) if ("event" in item) return;
}

function toResult(ended: HostedTurnResult): RunResult {
  if (ended.end !== undefined) {
    const { outcome, text, reason, usage, costUsd } = ended.end;
    return { outcome, text, code: undefined, reason, usage, costUsd };
  }
  const isStopped = ended.error instanceof AppError && ended.error.code === "turn-stopped";
  const { code } = toApiError(ended.error);
  const reason = ended.error instanceof AppError ? messageOf(ended.error) : toApiError(ended.error).message;
  return {
    ...{ outcome: isStopped ? "stopped" : "error", text: "", code, reason },
    ...{ usage: undefined, costUsd: undefined },
  };
}
