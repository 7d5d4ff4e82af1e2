import type { AgentEvent } from "../../agent/events.ts";
import { ApiError, openAiError } from "../api-error.ts";
import type { ApiParts } from "../api-parts.ts";
import type { ApiCall } from "../api-route.ts";
import { createEventStream, type Frame } from "../event-stream.ts";
import type { RunResult } from "../store/api-database.ts";
import type { ApiRun } from "./api-runs.ts";

/** Writes the events of a run in a format for clients. It gets all events, including those that the client already has. */
export interface RunFormat {
  start(): readonly Frame[];
  event(event: AgentEvent): readonly Frame[];
  /** Whether the stream ends after the last event although the turn goes on: the client has to do something first. */
  isPaused?(): boolean;
  end(result: RunResult): readonly Frame[];
}

/** What happens to a run when its client disconnects: it continues, ends at once, or ends after some seconds. */
export type OnDisconnect = "continue" | "cancel" | { readonly graceMs: number };

const MAX_GRACE_SECONDS = 3_600;

export function parseOnDisconnect(text: string | null): OnDisconnect {
  if (text === null || text === "continue" || text === "cancel") return text ?? "continue";
  const seconds = Number(/^grace:(\d{1,4})$/.exec(text)?.[1] ?? Number.NaN);
  if (seconds <= MAX_GRACE_SECONDS) return { graceMs: seconds * 1_000 };
  throw new ApiError(
    400,
    "invalid_on_disconnect",
    "X-Hermes-On-Disconnect is continue, cancel or grace:SECONDS.",
    "X-Hermes-On-Disconnect",
  );
}

/** Stops the run as the client asked for once it has disconnected; a run that has ended stays as it is. */
export function applyOnDisconnect({ turn }: ApiRun, policy: OnDisconnect, disconnected: AbortSignal): void {
  if (policy === "continue" || turn === undefined) return;
  const graceMs = policy === "cancel" ? 0 : policy.graceMs;
  const leave = (): void => {
    const timer = setTimeout(() => turn.stop(), graceMs);
    void turn.ended.then(() => clearTimeout(timer));
  };
  if (disconnected.aborted) leave();
  else disconnected.addEventListener("abort", leave, { once: true });
}

export interface StreamPosition {
  /** The id of the last event that the client has; 0 if it has none. */
  readonly after: number;
  /** Whether the client expects the frames that begin a stream. */
  readonly isNewStream: boolean;
}

/** Where a client wants to resume: after the last frame that it got. */
export function parseLastEventId(text: string | null): StreamPosition {
  if (text === null || text === "") return { after: 0, isNewStream: true };
  if (/^\d{1,15}$/.test(text)) return { after: Number(text), isNewStream: false };
  throw new ApiError(
    400,
    "invalid_last_event_id",
    "Last-Event-ID is not an id of this stream.",
    "Last-Event-ID",
  );
}

/**
 * Streams a run from the event after `after`. Frame ids are those of the journal; of several frames of one event only the
 * last has the id, so that a connection that breaks between them repeats the event.
 */
export function streamRun(
  run: ApiRun,
  format: RunFormat,
  from: StreamPosition,
  headers: Readonly<Record<string, string>>,
  { times, onError, disconnect }: Pick<ApiParts, "times" | "onError"> & Pick<ApiCall, "disconnect">,
): Response {
  const parts = { times, onError, disconnect };
  return createEventStream((signal) => followRun(run, format, from, signal), headers, parts);
}

async function* followRun(
  run: ApiRun,
  format: RunFormat,
  { after, isNewStream }: StreamPosition,
  signal: AbortSignal,
): AsyncGenerator<Frame> {
  const first = format.start();
  if (isNewStream) yield* first;
  let lastId = 0;
  for await (const item of run.turn?.watch(0, signal) ?? []) {
    if ("dropped" in item) {
      lastId = item.upTo;
      if (item.upTo > after)
        return yield errorFrame(
          new ApiError(
            409,
            "events_dropped",
            `The events up to ${item.upTo} are no longer kept; see GET /v1/runs/${run.id}.`,
          ),
        );
      continue;
    }
    lastId = item.id;
    const frames = format.event(item.event);
    if (item.id <= after) continue;
    yield* withLastId(frames, item.id);
    if (format.isPaused?.()) return;
  }
  if (signal.aborted) return;
  const result = await run.ended;
  if (result === undefined)
    return yield errorFrame(new ApiError(409, "run_elsewhere", "Another process runs this turn."));
  yield* withLastId(format.end(result), Math.max(lastId, after) + 1);
}

function withLastId(frames: readonly Frame[], id: number): readonly Frame[] {
  return frames.map((frame, index) => (index === frames.length - 1 ? { ...frame, id: String(id) } : frame));
}

function errorFrame(error: ApiError): Frame {
  return { event: "error", data: JSON.stringify(openAiError(error)) };
}
