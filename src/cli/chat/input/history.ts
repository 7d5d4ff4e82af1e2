/** A message that was sent or cleared earlier. */
export interface HistoryEntry {
  readonly text: string;
  readonly from: "session" | "folder" | "elsewhere";
}

/** Earlier messages, newest first, and the position in them that ↑ and ↓ have reached. */
export interface History {
  entries(): readonly HistoryEntry[];
  /** Appends the stored entries to those of this chat. */
  load(stored: readonly HistoryEntry[]): void;
  add(text: string): void;
  /** The previous entry; undefined at the oldest. `current` is kept, so that ↓ brings it back unchanged. */
  older(current: string): string | undefined;
  newer(current: string): string | undefined;
  /** The position of ↑ and ↓; undefined in the draft. */
  position(): { readonly number: number; readonly from: HistoryEntry["from"] } | undefined;
  /** Returns to the draft and discards changes of entries. */
  reset(): void;
}

const DRAFT = -1;

export function createHistory(): History {
  let entries: readonly HistoryEntry[] = [];
  let index = DRAFT;
  const edited = new Map<number, string>();

  function move(current: string, step: number): string | undefined {
    const next = index + step;
    if (next < DRAFT || next >= entries.length) return undefined;
    edited.set(index, current);
    index = next;
    return edited.get(index) ?? entries[index]?.text ?? "";
  }
  const reset = (): void => {
    index = DRAFT;
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
    position() {
      const entry = entries[index];
      return entry === undefined ? undefined : { number: index + 1, from: entry.from };
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
