import type { LiveTurn, TurnEvent, TurnPatch } from "../../../../src/api/contract/chat.ts";
import type { Entry, Turn } from "../../../../src/api/contract/sessions.ts";

/** Applies a change to a turn; undefined if the page has missed one, so that it has to read the turn again. */
export function applyEvent(turn: LiveTurn, { change, patches }: TurnEvent): LiveTurn | undefined {
  if (change <= turn.change) return turn;
  if (change > turn.change + 1) return undefined;
  let next: LiveTurn | undefined = { ...turn, change, entries: [...turn.entries] };
  for (const patch of patches) next = next && applyPatch(next, patch);
  return next;
}

function applyPatch(turn: LiveTurn, patch: TurnPatch): LiveTurn | undefined {
  if (patch.type === "facts") return { ...turn, facts: patch.facts };
  if (patch.type === "cut") return { ...turn, entries: turn.entries.slice(0, patch.length) };
  const { index } = patch;
  if (patch.type === "entry")
    return index > turn.entries.length ? undefined : withEntry(turn, index, patch.entry);
  const entry = turn.entries[index];
  if (entry?.type !== "assistant") return undefined;
  if (patch.type === "text") {
    const { field, from, text } = patch;
    if (entry[field].length !== from) return undefined;
    return withEntry(turn, index, { ...entry, [field]: entry[field] + text });
  }
  const calls = entry.calls.map((call) => (call.callId === patch.call.callId ? patch.call : call));
  return withEntry(turn, index, { ...entry, calls });
}

function withEntry(turn: LiveTurn, index: number, entry: Entry): LiveTurn {
  const entries = [...turn.entries];
  entries[index] = entry;
  return { ...turn, entries };
}

/** A live turn in the shape of the transcript. */
function toTurn({ id, startedAt, entries, facts }: LiveTurn): Turn {
  const { endedAt, outcome, reason, hint, costUsd } = facts;
  const why = [reason, hint].filter((text) => text !== null && text !== "").join(" ");
  return {
    ...{ id, startedAt, endedAt, outcome, costUsd, entries },
    reason: why === "" ? null : why,
    isUndone: false,
    isCompacted: false,
  };
}

/** The stored turns, with what this page has seen of them live, and the live turns that are not stored yet. */
export function joinTurns(stored: readonly Turn[], live: readonly LiveTurn[]): readonly Turn[] {
  const byId = new Map(live.map((turn) => [turn.id, toTurn(turn)]));
  const known = new Set(stored.map(({ id }) => id));
  const joined = stored.map((turn) => {
    const seen = byId.get(turn.id);
    if (seen === undefined) return turn;
    const { isUndone, isCompacted } = turn;
    return { ...seen, isUndone, isCompacted };
  });
  return [...joined, ...[...byId.values()].filter(({ id }) => !known.has(id))];
}
