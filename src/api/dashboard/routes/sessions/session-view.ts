import { mainArgument } from "../../../../agent/main-argument.ts";
import { PLAN_MODE } from "../../../../conversation/prompt/plan-mode.ts";
import { headOf, shorten } from "../../../../lib/text/shorten.ts";
import type { SessionSummary } from "../../../../sessions/session.ts";
import type { SessionStore } from "../../../../sessions/session-store.ts";
import type { TranscriptTurn, TurnCall } from "../../../../sessions/transcript-turns.ts";
import type { Call, Entry, Session, Turn } from "../../../contract/sessions.ts";

/** The store of a profile, with the redaction of its texts. */
export interface SessionSource {
  readonly profile: string;
  readonly store: SessionStore;
  /** Replaces secrets. */
  redact(text: string): string;
}

export async function toSession(
  { profile, store, redact }: SessionSource,
  session: SessionSummary,
  signal: AbortSignal,
): Promise<Session> {
  const { id, source, cwd, createdAt, activeAt } = session;
  const { opening, messages } = store.list.describe(session, redact);
  return {
    ...{ id, profile, source, cwd, createdAt, activeAt, opening, messages },
    title: session.title ?? null,
    model: `${session.provider}:${session.model}`,
    parent: session.parent ?? null,
    archivedAt: session.archivedAt ?? null,
    costUsd: store.usage.ofSession(id).costUsd,
    isRunning: await store.isTurnRunning(id, signal),
  };
}

/** What a page shows of an input and of an output before it asks for the whole. */
const SHOWN_BYTES = 16 * 1024;
const LINE_LENGTH = 300;

export function toTurn(turn: TranscriptTurn, redact: (text: string) => string): Turn {
  return {
    ...{ id: turn.id, startedAt: turn.startedAt, isUndone: turn.isUndone, isCompacted: turn.isCompacted },
    endedAt: turn.endedAt ?? null,
    outcome: turn.outcome ?? null,
    reason: turn.reason === undefined ? null : redact(turn.reason),
    costUsd: turn.costUsd,
    entries: turn.messages.map((message): Entry => {
      const { key, at, images, isSteer } = message;
      const text = redact(message.text);
      if (message.role === "user")
        return { type: "user", key, at, text: withoutPlanNote(text), images, isSteer };
      const calls = message.calls.map((call) => toCall(call, redact));
      return { type: "assistant", key, at, text, reasoning: redact(message.reasoning), calls };
    }),
  };
}

/** The text that the person wrote, without what plan mode adds for the model. */
export function withoutPlanNote(text: string): string {
  return text.endsWith(PLAN_MODE) ? text.slice(0, -PLAN_MODE.length).trimEnd() : text;
}

const OUTCOMES: Readonly<Record<string, Call["state"]>> = {
  ok: "ok",
  failed: "failed",
  stopped: "stopped",
  unknown: "unknown",
  "not-run": "skipped",
};

function stateOf({ state, outcome = "", isDenied }: TurnCall): Call["state"] {
  if (state === "pending") return "planned";
  if (state === "started") return "started";
  return isDenied ? "denied" : (OUTCOMES[outcome] ?? "unknown");
}

export function toCall(call: TurnCall, redact: (text: string) => string): Call {
  const { callId, tool } = call;
  const input = redact(call.input);
  const output = redact(call.result ?? "");
  return {
    ...{ callId, tool },
    text: shorten(mainArgument(input).replaceAll(/\s+/g, " ").trim(), LINE_LENGTH),
    input: headOf(input, SHOWN_BYTES),
    state: stateOf(call),
    durationMs: call.durationMs ?? null,
    output: headOf(output, SHOWN_BYTES),
    outputBytes: Buffer.byteLength(output),
    display: call.display === undefined ? null : headOf(redact(call.display), SHOWN_BYTES),
  };
}
