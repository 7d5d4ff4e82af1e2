import type { AgentEvent, AgentEventOf } from "../../agent/events.ts";
import type { Approval } from "../../approvals/approval.ts";
import { AppError, messageOf } from "../../lib/errors.ts";
import { tailOf } from "../../lib/text/shorten.ts";
import { textOf, toolCallsOf } from "../../providers/message.ts";
import type { TurnCall } from "../../sessions/transcript-turns.ts";
import type { HostedTurn, HostedTurnResult } from "../../turns/turn-host.ts";
import type { LiveTurn, TurnFacts, TurnPatch } from "../contract/chat.ts";
import type { Entry } from "../contract/sessions.ts";
import { toApproval } from "../dashboard/routes/overview/approval-view.ts";
import { toCall, withoutPlanNote } from "../dashboard/routes/sessions/session-view.ts";
import { toNotice } from "./turn-notices.ts";

/** Events within this time become one change. */
const GATHER_MS = 50;
/** What is kept of the output of a running call. */
const PROGRESS_CHARS = 4_000;

export interface ShownTurnParts {
  readonly turn: Pick<HostedTurn, "id" | "startedAt" | "state">;
  readonly profile: string;
  readonly session: string;
  /** The message of the person, shown until it is stored. */
  readonly text: string;
  /** Replaces secrets. */
  redact(text: string): string;
  now(): number;
  /** Called with the differences to the last change. */
  onChange(change: number, patches: readonly TurnPatch[]): void;
}

/** A turn as pages show it, kept up to date with its events. */
export interface ShownTurn {
  apply(event: AgentEvent): void;
  /** Adds a note that the model has not seen yet. */
  addSteer(text: string): void;
  /** Takes the notes that the model has not seen. */
  takeSteers(): readonly string[];
  /** Reads the state of the turn again. */
  touch(): void;
  end(result: HostedTurnResult): void;
  /** The turn as it is now. */
  read(): LiveTurn;
}

/** What the model has written in one step, as it arrived. */
interface Step {
  text: string;
  reasoning: string;
  calls: TurnCall[];
}

interface Dirty {
  isWhole: boolean;
  readonly calls: Set<string>;
}

type StepEntry = Extract<Entry, { type: "assistant" }>;

export function createShownTurn(parts: ShownTurnParts): ShownTurn {
  const { turn, profile, session, redact, now } = parts;
  const entries: Entry[] = [
    { type: "user", key: 0, at: turn.startedAt, text: redact(parts.text), images: 0, isSteer: false },
  ];
  const steps = new Map<number, Step>();
  const dirty = new Map<number, Dirty>();
  const questions = new Map<string, Approval>();
  const facts: Omit<TurnFacts, "state" | "questions"> = {
    isStored: false,
    endedAt: null,
    outcome: null,
    reason: null,
    hint: null,
    costUsd: 0,
    notices: [],
    steers: [],
  };
  let { notices, steers } = facts;
  let [change, length] = [0, entries.length];
  let areFactsDirty = false;
  let timer: NodeJS.Timeout | undefined;

  const readFacts = (): TurnFacts => ({
    ...facts,
    notices,
    steers,
    state: turn.state(),
    questions: [...questions.values()].map((approval) => toApproval({ profile, approval })),
  });

  function schedule(): void {
    timer ??= setTimeout(flush, GATHER_MS).unref();
  }

  function touch(): void {
    areFactsDirty = true;
    schedule();
  }

  function mark(index: number, what: "whole" | "text" | { readonly call: string }): void {
    const known = dirty.get(index) ?? { isWhole: false, calls: new Set<string>() };
    dirty.set(index, known);
    if (what === "whole") known.isWhole = true;
    else if (what !== "text") known.calls.add(what.call);
    schedule();
  }

  /** Publishes what has changed since the last time. */
  function flush(): void {
    clearTimeout(timer);
    timer = undefined;
    const patches: TurnPatch[] = [];
    if (entries.length < length) patches.push({ type: "cut", length: entries.length });
    for (const [index, what] of dirty) patches.push(...renew(index, what));
    if (areFactsDirty) patches.push({ type: "facts", facts: readFacts() });
    dirty.clear();
    areFactsDirty = false;
    length = entries.length;
    if (patches.length > 0) parts.onChange(++change, patches);
  }

  /** Brings one entry up to date, and returns the differences. */
  function renew(index: number, { isWhole, calls }: Dirty): TurnPatch[] {
    const [entry, step] = [entries[index], steps.get(index)];
    if (entry === undefined) return [];
    if (entry.type === "user" || step === undefined) return [{ type: "entry", index, entry }];
    const next: StepEntry = { ...entry, text: redact(step.text), reasoning: redact(step.reasoning) };
    const grows = next.text.startsWith(entry.text) && next.reasoning.startsWith(entry.reasoning);
    if (isWhole || !grows) {
      entries[index] = { ...next, calls: step.calls.map((call) => toCall(call, redact)) };
      return [{ type: "entry", index, entry: entries[index] }];
    }
    const patches: TurnPatch[] = [];
    for (const field of ["reasoning", "text"] as const) {
      const [from, text] = [entry[field].length, next[field].slice(entry[field].length)];
      if (text !== "") patches.push({ type: "text", index, field, from, text });
    }
    const changed = step.calls.filter(({ callId }) => calls.has(callId)).map((call) => toCall(call, redact));
    patches.push(...changed.map((call): TurnPatch => ({ type: "call", index, call })));
    const byId = new Map(changed.map((call) => [call.callId, call]));
    entries[index] = { ...next, calls: entry.calls.map((call) => byId.get(call.callId) ?? call) };
    return patches;
  }

  function add(entry: Entry): number {
    entries.push(entry);
    mark(entries.length - 1, "whole");
    return entries.length - 1;
  }

  /** The step that the model is writing; begins one if there is none. */
  function openStep(): { readonly step: Step; readonly index: number } {
    const index = entries.length - 1;
    const step = openIndex === index ? steps.get(index) : undefined;
    if (step !== undefined) return { step, index };
    const next: Step = { text: "", reasoning: "", calls: [] };
    const empty = { type: "assistant", at: now(), text: "", reasoning: "", calls: [] } as const;
    openIndex = add({ ...empty, key: entries.length, calls: [] });
    steps.set(openIndex, next);
    return { step: next, index: openIndex };
  }
  let openIndex: number | undefined;

  /** Removes the step that the model was writing, because it will be written again. */
  function dropStep(): void {
    if (openIndex === undefined) return;
    entries.length = openIndex;
    steps.delete(openIndex);
    dirty.delete(openIndex);
    openIndex = undefined;
    schedule();
  }

  function changeCall(callId: string, update: (call: TurnCall) => Partial<TurnCall>): void {
    for (const [index, { calls }] of steps) {
      const at = calls.findIndex((call) => call.callId === callId);
      const call = calls[at];
      if (call === undefined) continue;
      calls[at] = { ...call, ...update(call) };
      mark(index, { call: callId });
      return;
    }
  }

  function applyAnswer({ message, costUsd }: AgentEventOf<"assistant">): void {
    const { step, index } = openStep();
    step.text = textOf(message);
    step.reasoning = message.parts.map((part) => (part.type === "reasoning" ? part.text : "")).join("");
    step.calls = toolCallsOf(message).map(newCall);
    openIndex = undefined;
    mark(index, "whole");
    addCost(costUsd);
  }

  function addCost(costUsd: number | undefined): void {
    if (costUsd === undefined || costUsd === 0) return;
    facts.costUsd += costUsd;
    touch();
  }

  function apply(event: AgentEvent): void {
    const notice = toNotice(event, redact);
    if (notice !== undefined) {
      notices = [...notices, { after: entries.length, notice }];
      touch();
    }
    switch (event.type) {
      case "turn-start": {
        const images = event.message.parts.filter(({ type }) => type === "image").length;
        const text = withoutPlanNote(redact(textOf(event.message)));
        entries[0] = { type: "user", key: 0, at: now(), text, images, isSteer: false };
        facts.isStored = true;
        mark(0, "whole");
        touch();
        break;
      }
      case "text-delta":
      case "reasoning-delta": {
        const { step, index } = openStep();
        step[event.type === "text-delta" ? "text" : "reasoning"] += event.text;
        mark(index, "text");
        break;
      }
      case "tool-call-start": {
        const { step, index } = openStep();
        step.calls.push(newCall({ ...event, input: "" }));
        mark(index, "whole");
        break;
      }
      case "attempt-failed":
        dropStep();
        addCost(event.costUsd);
        break;
      case "assistant":
        applyAnswer(event);
        break;
      case "tools-start":
        for (const { callId } of event.calls) changeCall(callId, () => ({ state: "started" }));
        break;
      case "tool-progress":
        changeCall(event.callId, ({ result = "" }) => ({
          result: tailOf(`${result}${event.text}\n`, PROGRESS_CHARS), // reported line by line
        }));
        break;
      case "tool-end": {
        const { outcome, durationMs, text: result, display, denied } = event;
        const isDenied = denied !== undefined;
        changeCall(event.callId, () => ({
          ...{ state: "ended", outcome, durationMs, result, display, isDenied },
        }));
        break;
      }
      case "steer": {
        const text = textOf(event.message);
        steers = steers.filter((note) => !text.includes(note));
        add({ type: "user", key: entries.length, at: now(), text: redact(text), images: 0, isSteer: true });
        touch();
        break;
      }
      case "approval-asked":
        questions.set(event.approval.id, event.approval);
        touch();
        break;
      case "approval-answered":
        questions.delete(event.approval.id);
        touch();
        break;
      case "call-reviewed":
      case "compaction":
      case "compaction-failed":
        addCost(event.costUsd);
        break;
    }
  }

  return {
    apply,
    touch,
    addSteer(text) {
      steers = [...steers, text];
      touch();
    },
    takeSteers() {
      const taken = steers;
      steers = [];
      if (taken.length > 0) touch();
      return taken;
    },
    end(result) {
      facts.endedAt = now();
      questions.clear();
      Object.assign(facts, describeEnd(result, redact));
      areFactsDirty = true;
      flush();
    },
    read() {
      flush();
      const { id, startedAt } = turn;
      return { id, profile, session, startedAt, entries: [...entries], facts: readFacts(), change };
    },
  };
}

function newCall({ callId, tool, input }: Pick<TurnCall, "callId" | "tool" | "input">): TurnCall {
  const nothing = { outcome: undefined, durationMs: undefined, result: undefined, display: undefined };
  return { callId, tool, input, state: "pending", isDenied: false, ...nothing };
}

function describeEnd(
  result: HostedTurnResult,
  redact: (text: string) => string,
): Pick<TurnFacts, "outcome" | "reason" | "hint"> {
  const clean = (text: string | undefined): string | null => (text === undefined ? null : redact(text));
  if (result.end !== undefined) {
    const { outcome, reason, hint } = result.end;
    return { outcome, reason: clean(reason), hint: clean(hint) };
  }
  const { error } = result;
  if (!(error instanceof AppError)) return { outcome: "failed", reason: clean(messageOf(error)), hint: null };
  const outcome = error.code === "turn-stopped" ? "stopped" : "failed";
  return { outcome, reason: clean(error.message), hint: clean(error.hint) };
}
