import { type KeyboardEvent, type ReactNode, useId } from "react";
import styles from "./tabs.module.css";

export interface Tab<Name extends string> {
  readonly name: Name;
  readonly label: string;
  /** Shown beside the label, such as a count. */
  readonly fact?: ReactNode;
}

interface TabsProps<Name extends string> {
  readonly label: string;
  readonly tabs: readonly Tab<Name>[];
  readonly chosen: Name;
  onChoose(name: Name): void;
  /** The panel of the chosen tab. */
  readonly children: ReactNode;
  readonly className?: string | undefined;
}

/** Tabs and the panel of the chosen one. Arrows, Home and End move. */
export function Tabs<Name extends string>({
  label,
  tabs,
  chosen,
  onChoose,
  children,
  className,
}: TabsProps<Name>) {
  const id = useId();
  const move = (event: KeyboardEvent<HTMLElement>): void => {
    const at = tabs.findIndex(({ name }) => name === chosen);
    const steps: Record<string, number> = {
      ArrowRight: (at + 1) % tabs.length,
      ArrowLeft: (at - 1 + tabs.length) % tabs.length,
      Home: 0,
      End: tabs.length - 1,
    };
    const to = tabs[steps[event.key] ?? -1];
    if (to === undefined) return;
    event.preventDefault();
    onChoose(to.name);
    event.currentTarget.querySelector<HTMLElement>(`[data-tab="${to.name}"]`)?.focus();
  };
  return (
    <>
      <div role="tablist" aria-label={label} className={styles.tabs} onKeyDown={move}>
        {tabs.map(({ name, label: text, fact }) => (
          <button
            key={name}
            type="button"
            role="tab"
            data-tab={name}
            id={`${id}-${name}`}
            aria-selected={name === chosen}
            aria-controls={`${id}-panel`}
            tabIndex={name === chosen ? 0 : -1}
            onClick={() => onChoose(name)}
          >
            {text}
            {fact !== undefined && <span className="faint"> {fact}</span>}
          </button>
        ))}
      </div>
      <div
        id={`${id}-panel`}
        role="tabpanel"
        aria-labelledby={`${id}-${chosen}`}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: a panel that scrolls must be reached by keyboard
        tabIndex={0}
        className={className}
      >
        {children}
      </div>
    </>
  );
}
