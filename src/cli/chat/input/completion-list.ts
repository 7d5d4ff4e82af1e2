import { fuzzyFilter } from "@earendil-works/pi-tui";

export interface CompletionItem {
  /** The text that replaces the typed part. */
  readonly value: string;
  readonly summary: string;
}

/** The completions of the word that is being typed. */
export interface Completion {
  /** The end of the text before the caret that an item replaces. */
  readonly typed: string;
  readonly items: readonly CompletionItem[];
}

/** Finds completions for the text before the caret. A slow source gives up when the signal aborts. */
export type CompletionSource = (
  before: string,
  signal: AbortSignal,
) => Promise<Completion | undefined> | Completion | undefined;

/** The list of completions below the input line. */
export interface CompletionList {
  /** Updates the list. `isRequested`: the user pressed the completion key, so that a single match is inserted at once. */
  refresh(before: string, isRequested: boolean): void;
  close(): void;
  isOpen(): boolean;
  move(step: 1 | -1): void;
  /** The marked item, if the user has moved the mark. */
  chosen(): { readonly item: CompletionItem; readonly typed: string } | undefined;
  marked(): { readonly item: CompletionItem; readonly typed: string } | undefined;
  view(): { readonly items: readonly CompletionItem[]; readonly marked: number } | undefined;
}

export interface CompletionParts {
  readonly source: CompletionSource;
  /** A slow source has answered, so that the list must be drawn again. */
  onChange(): void;
  /** Inserts the only match, after the user has pressed the completion key. */
  onOnly(item: CompletionItem, typed: string): void;
}

export function createCompletionList({ source, onChange, onOnly }: CompletionParts): CompletionList {
  let found: Completion | undefined;
  let mark = 0;
  let hasMoved = false;
  let searching = new AbortController();

  function show(next: Completion | undefined, isRequested: boolean): void {
    const isSame = next !== undefined && next.items.length === 1 && next.items[0]?.value === next.typed;
    found = next === undefined || next.items.length === 0 || isSame ? undefined : next;
    mark = 0;
    hasMoved = false;
    const [only, ...others] = found?.items ?? [];
    if (isRequested && found !== undefined && only !== undefined && others.length === 0) {
      const { typed } = found;
      found = undefined;
      onOnly(only, typed);
    }
  }
  const markedItem = () => {
    const item = found?.items[mark];
    return found === undefined || item === undefined ? undefined : { item, typed: found.typed };
  };

  return {
    refresh(before, isRequested) {
      searching.abort();
      searching = new AbortController();
      const { signal } = searching;
      const answer = source(before, signal);
      if (!(answer instanceof Promise)) {
        show(answer, isRequested);
        return;
      }
      answer.then(
        (late) => {
          if (signal.aborted) return;
          show(late, isRequested);
          onChange();
        },
        () => show(undefined, false), // a folder that cannot be read offers nothing
      );
    },
    close() {
      searching.abort();
      found = undefined;
    },
    isOpen: () => found !== undefined,
    move(step) {
      const { length } = found?.items ?? [];
      if (length === 0) return;
      mark = hasMoved || step === -1 ? (mark + step + length) % length : mark;
      hasMoved = true;
    },
    chosen: () => (hasMoved ? markedItem() : undefined),
    marked: markedItem,
    view: () => found && { items: found.items, marked: hasMoved ? mark : -1 },
  };
}

/** The items that match the typed text, the best first. */
export function filterItems(items: readonly CompletionItem[], typed: string): CompletionItem[] {
  const starting = items.filter(({ value }) => value.toLowerCase().startsWith(typed.toLowerCase()));
  return starting.length > 0 ? starting : fuzzyFilter([...items], typed, ({ value }) => value);
}
