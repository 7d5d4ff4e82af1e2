import { createContext, type ReactNode, useContext, useEffect, useMemo, useRef, useState } from "react";

/**
 * Actions by key: `c`, `?`, `ArrowDown`, `g o` (one after the other) or `mod+k`. An action that returns false leaves the key to
 * the next binding or to the browser.
 */
// biome-ignore lint/suspicious/noConfusingVoidType: most actions return nothing
export type Bindings = Readonly<Record<string, (event: KeyboardEvent) => void | boolean>>;

interface KeyMap {
  readonly add: (bindings: () => Bindings) => () => void;
  /** Whether single-letter keys act; they get in the way of speech input. */
  readonly lettersOn: boolean;
  setLettersOn(on: boolean): void;
}

const Context = createContext<KeyMap | undefined>(undefined);
const STORED = "hermes-letters";
const SEQUENCE_MS = 1_200;

/** Listens for keys. The newest binding wins, so that a page can override the shell. */
export function KeyProvider({ children }: { readonly children: ReactNode }) {
  const layers = useRef<(() => Bindings)[]>([]);
  const [lettersOn, setLetters] = useState(() => localStorage.getItem(STORED) !== "off");
  const isOn = useRef(lettersOn);
  isOn.current = lettersOn;

  useEffect(() => {
    let first = "";
    let firstAt = 0;
    const onKeyDown = (event: KeyboardEvent): void => {
      if (event.defaultPrevented || event.isComposing || isOverlayOpen()) return;
      const isCommand = event.metaKey || event.ctrlKey;
      if (!isCommand && (isField(event.target) || event.altKey)) return;
      const isLetter = !isCommand && event.key.length === 1;
      if (isLetter && !isOn.current) return;
      const key = `${isCommand ? "mod+" : ""}${isCommand ? event.key.toLowerCase() : event.key}`;
      const isSecond = first !== "" && Date.now() - firstAt < SEQUENCE_MS;
      const names = isSecond ? [`${first} ${key}`] : [key];
      first = "";
      for (const bindings of layers.current.toReversed()) {
        const table = bindings();
        if (!isSecond && Object.keys(table).some((name) => name.startsWith(`${key} `))) {
          first = key;
          firstAt = Date.now();
        }
        for (const name of names) {
          const action = table[name];
          if (action === undefined || action(event) === false) continue;
          event.preventDefault();
          first = "";
          return;
        }
      }
    };
    document.addEventListener("keydown", onKeyDown);
    return () => document.removeEventListener("keydown", onKeyDown);
  }, []);

  const [add] = useState(() => (bindings: () => Bindings) => {
    layers.current.push(bindings);
    return () => {
      layers.current = layers.current.filter((other) => other !== bindings);
    };
  });
  const map = useMemo<KeyMap>(
    () => ({
      add,
      lettersOn,
      setLettersOn(on) {
        localStorage.setItem(STORED, on ? "on" : "off");
        setLetters(on);
      },
    }),
    [add, lettersOn],
  );
  return <Context value={map}>{children}</Context>;
}

/** Keys that act while the component is shown. */
export function useKeys(bindings: Bindings): void {
  const { add } = useKeyMap();
  const latest = useRef(bindings);
  useEffect(() => {
    latest.current = bindings;
  });
  useEffect(() => add(() => latest.current), [add]);
}

export function useKeyMap(): KeyMap {
  const map = useContext(Context);
  if (map === undefined) throw new Error("used outside of KeyProvider");
  return map;
}

/** Whether typing there enters text. */
function isField(target: EventTarget | null): boolean {
  return (
    target instanceof HTMLElement && target.closest("input, textarea, select, [contenteditable]") !== null
  );
}

/** Whether a dialog or popover is open, which has its own keys. */
function isOverlayOpen(): boolean {
  return document.querySelector("dialog:modal, [popover]:popover-open") !== null;
}

/** The name of the command key on this platform. */
export const COMMAND_KEY = /Mac|iPhone|iPad/.test(navigator.userAgent) ? "⌘" : "Ctrl ";
