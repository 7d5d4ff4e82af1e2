import { createContext, type ReactNode, useContext, useEffect, useMemo, useRef, useState } from "react";
import { words } from "../../words/words.ts";
import { Button } from "../controls/button.tsx";
import styles from "./toast.module.css";

interface ToastMessage {
  readonly id: number;
  readonly text: string;
  /** A refusal is highlighted and stays longer. */
  readonly bad: boolean;
  readonly action?: ToastAction | undefined;
}

interface ToastAction {
  readonly label: string;
  run(): void;
}

export interface Toasts {
  /** Reports something that happened, with at most one action. It disappears after six seconds. */
  say(text: string, action?: ToastAction): void;
  /** Reports something that was refused. */
  refuse(text: string, action?: ToastAction): void;
}

const Context = createContext<Toasts | undefined>(undefined);
const SHOWN_MS = 6_000;
const REFUSAL_MS = 10_000;
const AT_ONCE = 3;

export function ToastProvider({ children }: { readonly children: ReactNode }) {
  const [shown, setShown] = useState<readonly ToastMessage[]>([]);
  const next = useRef(0);
  const toasts = useMemo<Toasts>(() => {
    const add = (text: string, bad: boolean, action?: ToastAction): void => {
      next.current += 1;
      const message = { id: next.current, text, bad, action };
      setShown((earlier) => [...earlier.filter((other) => other.text !== text), message].slice(-AT_ONCE));
    };
    return {
      say: (text, action) => add(text, false, action),
      refuse: (text, action) => add(text, true, action),
    };
  }, []);
  const remove = (id: number): void => setShown((earlier) => earlier.filter((other) => other.id !== id));
  return (
    <Context value={toasts}>
      {children}
      <div className={styles.stack} role="status" aria-live="polite">
        {shown.map((message) => (
          <Toast key={message.id} message={message} onGone={() => remove(message.id)} />
        ))}
      </div>
    </Context>
  );
}

export function useToasts(): Toasts {
  const toasts = useContext(Context);
  if (toasts === undefined) throw new Error("used outside of ToastProvider");
  return toasts;
}

function Toast({ message, onGone }: { readonly message: ToastMessage; onGone(): void }) {
  const gone = useRef(onGone);
  const [isHeld, setHeld] = useState(false);
  useEffect(() => {
    gone.current = onGone;
  });
  useEffect(() => {
    if (isHeld) return;
    const timer = window.setTimeout(() => gone.current(), message.bad ? REFUSAL_MS : SHOWN_MS);
    return () => clearTimeout(timer);
  }, [isHeld, message.bad]);
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: it only waits while the pointer or the focus is on it
    <div
      className={`${styles.toast} ${message.bad ? styles.bad : ""}`}
      onPointerEnter={() => setHeld(true)}
      onPointerLeave={() => setHeld(false)}
      onFocus={() => setHeld(true)}
      onBlur={() => setHeld(false)}
    >
      <span>{message.text}</span>
      {message.action && (
        <button
          type="button"
          className={styles.action}
          onClick={() => {
            message.action?.run();
            onGone();
          }}
        >
          {message.action.label}
        </button>
      )}
      <Button
        kind="quiet"
        small
        icon="close"
        aria-label={words.shell.close}
        onClick={onGone}
        className={styles.close}
      />
    </div>
  );
}
