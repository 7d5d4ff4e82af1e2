import { type ComponentProps, type ReactNode, useEffect, useId, useRef } from "react";
import styles from "./field.module.css";

interface Around {
  readonly label: string;
  /** Hides the label from sight, but not from screen readers. */
  readonly bare?: boolean;
  readonly hint?: ReactNode;
  /** A sentence about what is wrong. */
  readonly problem?: string | undefined;
}

function Frame({
  label,
  bare,
  hint,
  problem,
  id,
  children,
}: Around & { readonly id: string; readonly children: ReactNode }) {
  return (
    <div className={styles.field}>
      <label htmlFor={id} className={bare ? "unseen" : undefined}>
        {label}
      </label>
      {children}
      {(problem ?? hint) !== undefined && (
        <small
          id={`${id}-note`}
          className={problem === undefined ? undefined : styles.wrong}
          role={problem && "alert"}
        >
          {problem ?? hint}
        </small>
      )}
    </div>
  );
}

function marks({ hint, problem }: Around, id: string) {
  return {
    "aria-invalid": problem !== undefined || undefined,
    "aria-describedby": (problem ?? hint) === undefined ? undefined : `${id}-note`,
  };
}

export function TextField({ label, bare, hint, problem, ...input }: Around & ComponentProps<"input">) {
  const id = useId();
  const around = { label, bare: bare ?? false, hint, problem };
  return (
    <Frame {...around} id={id}>
      <input {...input} {...marks(around, id)} id={id} className={styles.control} />
    </Frame>
  );
}

/** Grows with its text. ⌘↵ or Ctrl+↵ submits it. */
export function TextArea({
  label,
  bare,
  hint,
  problem,
  onSubmitKey,
  ...input
}: Around & ComponentProps<"textarea"> & { onSubmitKey?(): void }) {
  const id = useId();
  const element = useRef<HTMLTextAreaElement>(null);
  const { value } = input;
  // biome-ignore lint/correctness/useExhaustiveDependencies: the height follows the value
  useEffect(() => {
    const area = element.current;
    if (area === null || CSS.supports("field-sizing", "content")) return;
    area.style.height = "auto";
    area.style.height = `${area.scrollHeight + 2}px`;
  }, [value]);
  const around = { label, bare: bare ?? false, hint, problem };
  return (
    <Frame {...around} id={id}>
      <textarea
        rows={3}
        {...input}
        {...marks(around, id)}
        ref={element}
        id={id}
        className={`${styles.control} ${styles.area}`}
        onKeyDown={(event) => {
          input.onKeyDown?.(event);
          if (
            event.defaultPrevented ||
            event.key !== "Enter" ||
            !(event.metaKey || event.ctrlKey) ||
            onSubmitKey === undefined
          )
            return;
          event.preventDefault();
          onSubmitKey();
        }}
      />
    </Frame>
  );
}

export function Select({ label, bare, hint, problem, ...input }: Around & ComponentProps<"select">) {
  const id = useId();
  const around = { label, bare: bare ?? false, hint, problem };
  return (
    <Frame {...around} id={id}>
      <select {...input} {...marks(around, id)} id={id} className={`${styles.control} ${styles.select}`} />
    </Frame>
  );
}
