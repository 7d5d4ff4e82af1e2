/** A message that was sent or cleared earlier. */
export interface HistoryEntry {
  readonly text: string;
  readonly from: "session" | "folder" | "elsewhere";
}

/** Earlier messages, newest first, and the place in them that ↑ and ↓ have reached. */
export interface History {
  entries(): readonly HistoryEntry[];
  /** Takes the stored entries, which follow those of this chat. */
  load(stored: readonly HistoryEntry[]): void;
  add(text: string): void;
  /** The entry before, or undefined at the end. `current` is kept, so that ↓ brings it back as it was left. */
  older(current: string): string | undefined;
  newer(current: string): string | undefined;
  /** Where ↑ and ↓ are; undefined in the draft. */
  place(): { readonly number: number; readonly from: HistoryEntry["from"] } | undefined;
  /** Forgets the place and what was changed there. */
  reset(): void;
}

const DRAFT = -1;

export function createHistory(): History {
  let entries: readonly HistoryEntry[] = [];
  let place = DRAFT;
  const edited = new Map<number, string>();

  function move(current: string, step: number): string | undefined {
    const next = place + step;
    if (next < DRAFT || next >= entries.length) return undefined;
    edited.set(place, current);
    place = next;
    return edited.get(place) ?? entries[place]?.text ?? "";
  }
  const reset = (): void => {
    place = DRAFT;
    edited.clear();
  };

  return {
    entries: () => entries,
    load(stored) {
      entries = withoutRepeats([...entries, ...stored.toSorted(byDistance)]);
    },
    add(text) {
      reset();
      if (text.trim() === "") return;
      entries = withoutRepeats([{ text, from: "session" }, ...entries]);
    },
    older: (current) => move(current, 1),
    newer: (current) => move(current, -1),
    place() {
      const entry = entries[place];
      return entry === undefined ? undefined : { number: place + 1, from: entry.from };
    },
    reset,
  };
}

const ORDER = { session: 0, folder: 1, elsewhere: 2 } as const;

function byDistance(one: HistoryEntry, other: HistoryEntry): number {
  return ORDER[one.from] - ORDER[other.from];
}

function withoutRepeats(entries: readonly HistoryEntry[]): HistoryEntry[] {
  const seen = new Set<string>();
  return entries.filter(({ text }) => !seen.has(text) && seen.add(text));
}
