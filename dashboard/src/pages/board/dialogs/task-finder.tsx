import { useQuery } from "@tanstack/react-query";
import { useDeferredValue, useId, useState } from "react";
import type { CardsAnswer } from "../../../../../src/api/contract/boards.ts";
import { TextField } from "../../../components/controls/field.tsx";
import { useApi } from "../../../data/app-data.tsx";
import { words } from "../../../words/words.ts";
import { cardsPath } from "../use-board-cards.ts";
import styles from "./task-finder.module.css";

const { board: text } = words;

export interface FoundTask {
  readonly id: string;
  readonly seq: number;
  readonly title: string;
}

const SHOWN = 8;

/** A field that finds tasks of the board by number or word. */
export function TaskFinder({
  slug,
  label,
  hint,
  without,
  optionLabel,
  onFound,
}: {
  readonly slug: string;
  readonly label: string;
  readonly hint?: string;
  /** Tasks that are not offered. */
  readonly without: readonly string[];
  /** The accessible label of the option of a task. */
  optionLabel(title: string): string;
  onFound(task: FoundTask): void;
}) {
  const api = useApi();
  const [typed, setTyped] = useState("");
  const [at, setAt] = useState(0);
  const listId = useId();
  const wanted = useDeferredValue(typed.trim());
  const { data } = useQuery({
    queryKey: ["find-tasks", slug, wanted],
    queryFn: ({ signal }) => api.get<CardsAnswer>(cardsPath(slug, { q: wanted }), signal),
    enabled: wanted !== "",
    staleTime: 2_000,
    gcTime: 10_000,
  });
  const found = (data?.columns ?? [])
    .flatMap(({ cards }) => cards)
    .filter(({ id }) => !without.includes(id))
    .slice(0, SHOWN);
  const isOpen = wanted !== "" && data !== undefined;
  const choose = (task: FoundTask | undefined): void => {
    if (task === undefined) return;
    setTyped("");
    setAt(0);
    onFound(task);
  };
  return (
    <div className={styles.finder}>
      <TextField
        label={label}
        hint={hint}
        role="combobox"
        aria-expanded={isOpen}
        aria-controls={listId}
        aria-autocomplete="list"
        aria-activedescendant={isOpen && found[at] !== undefined ? `${listId}-${at}` : undefined}
        autoComplete="off"
        value={typed}
        onChange={(event) => {
          setTyped(event.target.value);
          setAt(0);
        }}
        onKeyDown={(event) => {
          if (!isOpen) return;
          const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
          if (step !== undefined) setAt((at + step + found.length) % Math.max(1, found.length));
          else if (event.key === "Enter") choose(found[at]);
          else if (event.key === "Escape") setTyped("");
          else return;
          event.preventDefault();
          event.stopPropagation();
        }}
      />
      {isOpen && (
        <div role="listbox" id={listId} aria-label={label} className={styles.list}>
          {found.map((task, index) => (
            // biome-ignore lint/a11y/useKeyWithClickEvents: the text field handles the keys
            // biome-ignore lint/a11y/useFocusableInteractive: the focus stays in the field, which names the active option
            <div
              key={task.id}
              role="option"
              id={`${listId}-${index}`}
              aria-selected={index === at}
              aria-label={optionLabel(task.title)}
              className={styles.option}
              onPointerMove={() => setAt(index)}
              onClick={() => choose(task)}
            >
              <span className="mono faint">{text.number(task.seq)}</span>
              <span className="clip">{task.title}</span>
            </div>
          ))}
          {found.length === 0 && <p className={styles.none}>{text.create.none}</p>}
        </div>
      )}
    </div>
  );
}
