/** Unsent text by field. It survives events, a lost connection, and closing the drawer or the page. */
export interface Drafts {
  get(field: string): string | undefined;
  /** Stores a text; undefined removes it. */
  set(field: string, text: string | undefined): void;
}

const PREFIX = "hermes.draft.";
/** Stored drafts are kept for this long after their last change. */
const KEPT_MS = 7 * 86_400_000;

interface Kept {
  readonly text: string;
  readonly at: number;
}

/** Drafts of one task. If the browser cannot store them (a private window, a full disk), they last as long as the page. */
export function createDrafts(
  storage: Storage | undefined,
  scope: string,
  now: () => number = Date.now,
): Drafts {
  const memory = new Map<string, string>();
  const keyOf = (field: string): string => `${PREFIX}${scope}.${field}`;
  return {
    get(field) {
      const inMemory = memory.get(field);
      if (inMemory !== undefined) return inMemory;
      try {
        const text = storage?.getItem(keyOf(field));
        return text == null ? undefined : (JSON.parse(text) as Kept).text;
      } catch {
        return undefined;
      }
    },
    set(field, text) {
      try {
        if (text === undefined) storage?.removeItem(keyOf(field));
        else storage?.setItem(keyOf(field), JSON.stringify({ text, at: now() } satisfies Kept));
      } catch {
        // The copy in memory below remains.
      }
      if (text === undefined) memory.delete(field);
      else memory.set(field, text);
    },
  };
}

/** Removes abandoned drafts. */
export function forgetOldDrafts(storage: Storage, now: number): void {
  const keys = Array.from({ length: storage.length }, (_, index) => storage.key(index));
  for (const key of keys) {
    if (key === null || !key.startsWith(PREFIX)) continue;
    const at = readTime(storage.getItem(key));
    if (at === undefined || now - at > KEPT_MS) storage.removeItem(key);
  }
}

function readTime(text: string | null): number | undefined {
  try {
    return (JSON.parse(text ?? "") as Kept).at;
  } catch {
    return undefined;
  }
}
