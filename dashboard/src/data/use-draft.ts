import { useCallback, useState } from "react";

const PREFIX = "hermes-draft ";

/**
 * Unsent text. It survives events, a lost connection, a new sign-in, closing its form, and a reload; it is lost with the
 * tab.
 */
export function useDraft(name: string): readonly [text: string, write: (text: string) => void] {
  const [draft, setDraft] = useState(() => ({ name, text: read(name) }));
  const text = draft.name === name ? draft.text : read(name);
  const write = useCallback(
    (next: string) => {
      if (next === "") sessionStorage.removeItem(PREFIX + name);
      else sessionStorage.setItem(PREFIX + name, next);
      setDraft({ name, text: next });
    },
    [name],
  );
  return [text, write];
}

const read = (name: string): string => sessionStorage.getItem(PREFIX + name) ?? "";
