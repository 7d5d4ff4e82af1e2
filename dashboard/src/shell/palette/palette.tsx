import { type KeyboardEvent, useEffect, useId, useRef, useState } from "react";
import { Icon } from "../../components/controls/icon.tsx";
import { words } from "../../words/words.ts";
import { type Command, fits, useCommands, useFound } from "./commands.ts";
import styles from "./palette.module.css";

interface PaletteProps {
  onClose(): void;
  onKeys(): void;
}

/** Opens or does anything by a part of its name. */
export function Palette({ onClose, onKeys }: PaletteProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  const listId = useId();
  const [typed, setTyped] = useState("");
  const [at, setAt] = useState(0);
  const commands = useCommands(onKeys).filter(({ label }) => fits(label, typed));
  const found = useFound(typed);
  const shown = [...found, ...commands];

  useEffect(() => {
    const element = dialog.current;
    const opener = document.activeElement;
    element?.showModal();
    return () => {
      element?.close();
      if (opener instanceof HTMLElement && opener.isConnected) opener.focus();
    };
  }, []);

  const run = (command: Command | undefined): void => {
    if (command === undefined) return;
    onClose();
    command.run();
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step !== undefined) setAt((at + step + shown.length) % Math.max(1, shown.length));
    else if (event.key === "Enter") run(shown[at]);
    else return;
    event.preventDefault();
  };

  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: the click is on the backdrop; Escape does the same
    <dialog
      ref={dialog}
      className={styles.palette}
      aria-label={words.shell.palette.label}
      onCancel={(event) => {
        event.preventDefault();
        onClose();
      }}
      onClick={(event) => {
        if (event.target === event.currentTarget) onClose();
      }}
    >
      <div className={styles.field}>
        <Icon name="search" />
        <input
          role="combobox"
          aria-label={words.shell.palette.field}
          aria-expanded="true"
          aria-controls={listId}
          aria-autocomplete="list"
          aria-activedescendant={shown[at] && `${listId}-${at}`}
          placeholder={words.shell.palette.field}
          autoComplete="off"
          spellCheck={false}
          value={typed}
          onChange={(event) => {
            setTyped(event.target.value);
            setAt(0);
          }}
          onKeyDown={onKeyDown}
        />
        <span aria-hidden="true">
          <kbd>Esc</kbd>
        </span>
      </div>
      <div role="listbox" id={listId} aria-label={words.shell.palette.label} className={styles.list}>
        {shown.map((command, index) => (
          <Row
            key={command.id}
            id={`${listId}-${index}`}
            command={command}
            isFirst={command.group !== shown[index - 1]?.group}
            isAt={index === at}
            onPoint={() => setAt(index)}
            onRun={() => run(command)}
          />
        ))}
      </div>
      {shown.length === 0 && (
        <p className={styles.none} role="status">
          {words.shell.palette.none}
        </p>
      )}
    </dialog>
  );
}

interface RowProps {
  readonly id: string;
  readonly command: Command;
  readonly isFirst: boolean;
  readonly isAt: boolean;
  onPoint(): void;
  onRun(): void;
}

function Row({ id, command, isFirst, isAt, onPoint, onRun }: RowProps) {
  const row = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (isAt) row.current?.scrollIntoView({ block: "nearest" });
  }, [isAt]);
  return (
    <>
      {isFirst && (
        <div className={styles.group} role="presentation">
          {command.group}
        </div>
      )}
      {/* biome-ignore lint/a11y/useKeyWithClickEvents: the keys are those of the field */}
      {/* biome-ignore lint/a11y/useFocusableInteractive: the focus stays in the field, which names the active row */}
      <div
        ref={row}
        role="option"
        id={id}
        aria-selected={isAt}
        className={styles.row}
        onPointerMove={onPoint}
        onClick={onRun}
      >
        <Icon name={command.icon} />
        <span className="clip">{command.label}</span>
        {command.fact && <small className="clip">{command.fact}</small>}
      </div>
    </>
  );
}
