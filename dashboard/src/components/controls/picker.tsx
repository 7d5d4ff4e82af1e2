import { type KeyboardEvent, useId, useRef, useState } from "react";
import { Icon } from "./icon.tsx";
import styles from "./picker.module.css";
import { usePopover } from "./use-popover.ts";

export interface Option {
  readonly value: string;
  readonly label: string;
  /** A second line, less prominent. */
  readonly hint?: string;
}

interface PickerProps {
  /** The accessible name of the field. */
  readonly label: string;
  /** What the button shows. */
  readonly text: string;
  readonly options: readonly Option[];
  readonly chosen: readonly string[];
  /** Allows several choices; choosing one keeps the list open. */
  readonly several?: boolean;
  readonly placeholder: string;
  /** Shown when no option matches. */
  readonly none: string;
  onChoose(values: readonly string[]): void;
  /** Allows values that are not in the list. */
  readonly free?: boolean;
  readonly marked?: boolean;
}

/** A list that is filtered while one types. Arrows move, Enter chooses, Escape closes. */
export function Picker(props: PickerProps) {
  const { label, text, options, chosen, several = false, placeholder, none, onChoose, free = false } = props;
  const [typed, setTyped] = useState("");
  const [at, setAt] = useState(0);
  const input = useRef<HTMLInputElement>(null);
  const listId = useId();
  const popover = usePopover<HTMLButtonElement>({
    onOpen: () => {
      setTyped("");
      setAt(
        Math.max(
          0,
          options.findIndex(({ value }) => chosen.includes(value)),
        ),
      );
    },
    focusOn: () => input.current,
  });
  const needle = typed.trim().toLowerCase();
  const fitting = options.filter(({ label: name, value }) =>
    `${name} ${value}`.toLowerCase().includes(needle),
  );
  const isNew = free && needle !== "" && !options.some(({ value }) => value.toLowerCase() === needle);
  const shown = isNew ? [...fitting, { value: typed.trim(), label: `“${typed.trim()}”` }] : fitting;

  const choose = (value: string): void => {
    if (!several) {
      popover.close();
      onChoose(chosen.includes(value) ? [] : [value]);
      return;
    }
    onChoose(chosen.includes(value) ? chosen.filter((other) => other !== value) : [...chosen, value]);
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step !== undefined) setAt((at + step + shown.length) % Math.max(1, shown.length));
    else if (event.key === "Enter") {
      const option = shown[at];
      if (option !== undefined) choose(option.value);
    } else return;
    event.preventDefault();
  };

  return (
    <>
      <button
        type="button"
        ref={popover.anchor}
        popoverTarget={popover.id}
        aria-haspopup="listbox"
        aria-expanded={false}
        aria-label={`${label}: ${text}`}
        className={`${styles.button} ${props.marked ? styles.marked : ""}`}
      >
        <span className="clip">{text}</span>
        <Icon name="down" />
      </button>
      <div ref={popover.panel} id={popover.id} popover="auto" className={styles.panel}>
        <input
          ref={input}
          role="combobox"
          aria-label={label}
          aria-expanded="true"
          aria-controls={listId}
          aria-autocomplete="list"
          aria-activedescendant={shown[at] && `${listId}-${at}`}
          autoComplete="off"
          placeholder={placeholder}
          value={typed}
          className={styles.input}
          onChange={(event) => {
            setTyped(event.target.value);
            setAt(0);
          }}
          onKeyDown={onKeyDown}
        />
        <div
          role="listbox"
          id={listId}
          aria-label={label}
          aria-multiselectable={several || undefined}
          className={styles.list}
        >
          {shown.map(({ value, label: name, hint }, index) => (
            // biome-ignore lint/a11y/useKeyWithClickEvents: the keys are those of the field
            // biome-ignore lint/a11y/useFocusableInteractive: the focus stays in the field, which names the active option
            <div
              key={value}
              role="option"
              id={`${listId}-${index}`}
              aria-selected={chosen.includes(value)}
              className={`${styles.option} ${index === at ? styles.at : ""}`}
              onPointerMove={() => setAt(index)}
              onClick={() => choose(value)}
              ref={index === at ? scrollIntoView : undefined}
            >
              <Icon name="check" className={chosen.includes(value) ? "" : styles.blank} />
              <span className="clip">{name}</span>
              {hint && <small className="faint clip">{hint}</small>}
            </div>
          ))}
        </div>
        {shown.length === 0 && (
          <p className={styles.none} role="status">
            {none}
          </p>
        )}
      </div>
    </>
  );
}

function scrollIntoView(element: HTMLElement | null): void {
  element?.scrollIntoView({ block: "nearest" });
}
