type Listener = () => void;

/** The card that the keyboard acts on, and the selected cards. */
export interface CardMarks {
  /** The card that keys act on. */
  focused(): string | undefined;
  isSelected(id: string): boolean;
  selected(): readonly string[];
  /** Lets keys act on a card; with `move`, the card is to take the browser's focus too. */
  focus(id: string | undefined, move?: boolean): void;
  /** Whether this card is to take the browser's focus; true once per request. */
  consumeFocusRequest(id: string): boolean;
  toggle(id: string): void;
  /** Replaces the selection. */
  select(ids: readonly string[]): void;
  /** Subscribes to changes for one card, or for all (`*`). */
  subscribe(id: string, listener: Listener): () => void;
}

export function createCardMarks(): CardMarks {
  const listeners = new Map<string, Set<Listener>>();
  let focused: string | undefined;
  let focusRequest: string | undefined;
  let selected: readonly string[] = [];
  let lookup: ReadonlySet<string> = new Set();

  const tell = (ids: Iterable<string | undefined>): void => {
    for (const id of [...new Set(ids), "*"])
      if (id !== undefined) for (const listener of [...(listeners.get(id) ?? [])]) listener();
  };
  const select = (ids: readonly string[]): void => {
    const before = selected;
    selected = [...new Set(ids)];
    lookup = new Set(selected);
    tell([...before, ...selected]);
  };

  return {
    focused: () => focused,
    isSelected: (id) => lookup.has(id),
    selected: () => selected,
    focus(id, move = false) {
      const before = focused;
      focused = id;
      if (move) focusRequest = id;
      if (before !== id || move) tell([before, id]);
    },
    consumeFocusRequest(id) {
      if (focusRequest !== id) return false;
      focusRequest = undefined;
      return true;
    },
    toggle: (id) => select(lookup.has(id) ? selected.filter((one) => one !== id) : [...selected, id]),
    select,
    subscribe(id, listener) {
      const own = listeners.get(id) ?? new Set();
      listeners.set(id, own.add(listener));
      return () => own.delete(listener);
    },
  };
}
