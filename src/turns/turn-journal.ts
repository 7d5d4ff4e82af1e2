import type { AgentEvent } from "../agent/events.ts";

/** An event of a turn with its id: 1 for the first event, then one more for each. */
export interface JournalEntry {
  readonly id: number;
  readonly event: AgentEvent;
}

/** `dropped`: the journal no longer holds the events after the watcher's id up to and including `upTo`. */
export type JournalItem = JournalEntry | { readonly dropped: true; readonly upTo: number };

export interface JournalSize {
  readonly maxEvents: number;
  /** Limits the size of the held events as JSON, in characters. */
  readonly maxChars: number;
}

export const JOURNAL_SIZE: JournalSize = { maxEvents: 10_000, maxChars: 8_000_000 };

/**
 * The latest events of one turn, in memory. A watcher is only a position in the journal, so a slow watcher needs no buffer.
 */
export interface TurnJournal {
  append(event: AgentEvent): void;
  /** No further event follows. */
  end(): void;
  /** Id of the newest event; 0 before the first. */
  lastId(): number;
  /** The size of the held events as JSON, in characters. */
  chars(): number;
  /** Yields the events after an id, waits for further ones, and returns at the end of the turn or when the signal aborts. */
  watch(after: number, signal: AbortSignal): AsyncGenerator<JournalItem>;
}

interface HeldEntry extends JournalEntry {
  readonly chars: number;
}

export function createTurnJournal({ maxEvents, maxChars }: JournalSize): TurnJournal {
  let entries: HeldEntry[] = [];
  let firstIndex = 0; // entries before it are dropped; the array is cut only from time to time, because shift() copies it
  let chars = 0;
  let lastId = 0;
  let isEnded = false;
  const waiting = new Set<() => void>();

  function announce(): void {
    const woken = [...waiting];
    waiting.clear();
    for (const wake of woken) wake();
  }
  function drop(): void {
    while (entries.length - firstIndex > maxEvents || (chars > maxChars && entries.length - firstIndex > 1))
      chars -= entries[firstIndex++]?.chars ?? 0;
    if (firstIndex < maxEvents) return;
    entries = entries.slice(firstIndex);
    firstIndex = 0;
  }

  return {
    append(event) {
      const entry = { id: ++lastId, event, chars: JSON.stringify(event).length };
      entries.push(entry);
      chars += entry.chars;
      drop();
      announce();
    },
    end() {
      isEnded = true;
      announce();
    },
    lastId: () => lastId,
    chars: () => chars,
    async *watch(after, signal) {
      const onAbort = (): void => announce(); // wakes the other watchers, too, which then wait again
      signal.addEventListener("abort", onAbort, { once: true });
      try {
        for (let seen = after; !signal.aborted; ) {
          const firstId = entries[firstIndex]?.id ?? lastId + 1;
          const entry = entries[firstIndex + seen - firstId + 1];
          if (seen < firstId - 1) {
            seen = firstId - 1;
            yield { dropped: true, upTo: seen };
          } else if (entry !== undefined) {
            seen = entry.id;
            yield { id: entry.id, event: entry.event };
          } else if (isEnded) return;
          else await new Promise<void>((wake) => void waiting.add(wake));
        }
      } finally {
        signal.removeEventListener("abort", onAbort);
      }
    },
  };
}
