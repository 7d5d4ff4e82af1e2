import { fuzzyFilter } from "@earendil-works/pi-tui";

export interface CompletionItem {
  /** What replaces the typed part. */
  readonly value: string;
  readonly summary: string;
}

/** What could follow the typed part of a word. */
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
  /** Asks again after the text has changed. `isAsked`: the person pressed the key, so a single item is taken at once. */
  refresh(before: string, isAsked: boolean): void;
  close(): void;
  isOpen(): boolean;
  move(step: 1 | -1): void;
  /** The item that is marked, once the person has moved the mark or has asked. */
  chosen(): { readonly item: CompletionItem; readonly typed: string } | undefined;
  marked(): { readonly item: CompletionItem; readonly typed: string } | undefined;
  view(): { readonly items: readonly CompletionItem[]; readonly marked: number } | undefined;
}

export interface CompletionParts {
  readonly source: CompletionSource;
  /** Something arrived later and must be drawn. */
  onChange(): void;
  /** The only item that fits, after the person pressed the key. */
  onOnly(item: CompletionItem, typed: string): void;
}

export function createCompletionList({ source, onChange, onOnly }: CompletionParts): CompletionList {
  let found: Completion | undefined;
  let mark = 0;
  let hasMoved = false;
  let asking = new AbortController();

  function show(next: Completion | undefined, isAsked: boolean): void {
    const isSame = next !== undefined && next.items.length === 1 && next.items[0]?.value === next.typed;
    found = next === undefined || next.items.length === 0 || isSame ? undefined : next;
    mark = 0;
    hasMoved = false;
    const [only, ...others] = found?.items ?? [];
    if (isAsked && found !== undefined && only !== undefined && others.length === 0) {
      const { typed } = found;
      found = undefined;
      onOnly(only, typed);
    }
  }
  const marked = () => {
    const item = found?.items[mark];
    return found === undefined || item === undefined ? undefined : { item, typed: found.typed };
  };

  return {
    refresh(before, isAsked) {
      asking.abort();
      asking = new AbortController();
      const { signal } = asking;
      const answer = source(before, signal);
      if (!(answer instanceof Promise)) {
        show(answer, isAsked);
        return;
      }
      answer.then(
        (late) => {
          if (signal.aborted) return;
          show(late, isAsked);
          onChange();
        },
        () => show(undefined, false), // a folder that cannot be read offers nothing
      );
    },
    close() {
      asking.abort();
      found = undefined;
    },
    isOpen: () => found !== undefined,
    move(step) {
      const { length } = found?.items ?? [];
      if (length === 0) return;
      mark = hasMoved || step === -1 ? (mark + step + length) % length : mark;
      hasMoved = true;
    },
    chosen: () => (hasMoved ? marked() : undefined),
    marked,
    view: () => found && { items: found.items, marked: hasMoved ? mark : -1 },
  };
}

/** The items that fit what was typed, the best first. */
export function filterItems(items: readonly CompletionItem[], typed: string): CompletionItem[] {
  const starting = items.filter(({ value }) => value.toLowerCase().startsWith(typed.toLowerCase()));
  return starting.length > 0 ? starting : fuzzyFilter([...items], typed, ({ value }) => value);
}
