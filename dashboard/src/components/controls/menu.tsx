import { type KeyboardEvent, useEffect } from "react";
import { Button, type ButtonProps } from "./button.tsx";
import { Icon, type IconName } from "./icon.tsx";
import styles from "./menu.module.css";
import { usePopover } from "./use-popover.ts";

export interface MenuItem {
  readonly label: string;
  readonly icon?: IconName;
  /** The key for the same action. */
  readonly keys?: string;
  /** Why it cannot be chosen now; the item stays readable. */
  readonly refusal?: string | undefined;
  readonly danger?: boolean;
  /** For one of several choices: whether it is the current one. */
  readonly checked?: boolean;
  run(): void;
}

/** A line between items. */
export type MenuEntry = MenuItem | "line";

interface MenuProps extends Omit<ButtonProps, "onClick"> {
  /** The accessible name of the list. */
  readonly name: string;
  readonly items: readonly MenuEntry[];
}

/** A button that opens a list of actions. Arrows, Home, End and the first letter move; Escape closes. */
export function Menu({ name, items, ...button }: MenuProps) {
  const { anchor, panel, id, close } = usePopover<HTMLButtonElement>({ focusOn: findFirstItem });
  return (
    <>
      <Button {...button} ref={anchor} popoverTarget={id} aria-haspopup="menu" aria-expanded={false} />
      <div
        ref={panel}
        id={id}
        popover="auto"
        role="menu"
        aria-label={name}
        className={styles.menu}
        onKeyDown={moveFocus}
      >
        <MenuItems items={items} close={close} />
      </div>
    </>
  );
}

interface FloatingMenuProps {
  readonly name: string;
  readonly items: readonly MenuEntry[];
  /** The element that the menu opens beside. */
  readonly anchor: HTMLElement;
  onClose(): void;
}

/** A list of actions that is open while it is rendered, so that one list serves many elements. */
export function FloatingMenu({ name, items, anchor, onClose }: FloatingMenuProps) {
  const {
    anchor: beside,
    panel,
    id,
    open,
    close,
  } = usePopover<HTMLElement>({ focusOn: findFirstItem, onClose });
  // biome-ignore lint/correctness/useExhaustiveDependencies: it opens once, beside what it was rendered for
  useEffect(() => {
    beside.current = anchor;
    open();
  }, []);
  return (
    <div
      ref={panel}
      id={id}
      popover="auto"
      role="menu"
      aria-label={name}
      className={styles.menu}
      onKeyDown={moveFocus}
    >
      <MenuItems items={items} close={close} />
    </div>
  );
}

/** The first item, or the chosen one in a list of choices. */
function findFirstItem(panel: HTMLElement): HTMLElement | null {
  const first = panel.querySelector<HTMLElement>("[role^=menuitem]");
  const isChoice = first?.getAttribute("role") === "menuitemradio";
  return (isChoice ? panel.querySelector<HTMLElement>("[aria-checked=true]") : null) ?? first;
}

function MenuItems({ items, close }: { readonly items: readonly MenuEntry[]; close(): void }) {
  const hasIcons = items.some(
    (item) => item !== "line" && (item.icon !== undefined || item.checked !== undefined),
  );
  return items.map((item, index) => {
    if (item === "line") {
      const before = items[index - 1];
      return <hr key={`after ${typeof before === "object" ? before.label : ""}`} className={styles.line} />;
    }
    const isChoice = item.checked !== undefined;
    return (
      <button
        key={item.label}
        type="button"
        {...(isChoice ? { role: "menuitemradio", "aria-checked": item.checked } : { role: "menuitem" })}
        aria-disabled={item.refusal !== undefined || undefined}
        tabIndex={-1}
        className={`${styles.item} ${item.danger ? styles.danger : ""}`}
        onClick={() => {
          if (item.refusal !== undefined) return;
          close();
          item.run();
        }}
      >
        {isChoice ? <Icon name="check" className={item.checked ? "" : styles.blank} /> : null}
        {!isChoice && hasIcons && (
          <Icon name={item.icon ?? "check"} className={item.icon === undefined ? styles.blank : ""} />
        )}
        <span className={styles.label}>
          {item.label}
          {item.refusal !== undefined && <small>{item.refusal}</small>}
        </span>
        {item.keys && (
          <span aria-hidden="true">
            <kbd>{item.keys}</kbd>
          </span>
        )}
      </button>
    );
  });
}

function moveFocus(event: KeyboardEvent<HTMLElement>): void {
  const items = [...event.currentTarget.querySelectorAll<HTMLElement>("[role^=menuitem]")];
  const at = items.indexOf(document.activeElement as HTMLElement);
  const to = target(event, items, at);
  if (to === undefined) return;
  event.preventDefault();
  event.stopPropagation();
  to.focus();
}

function target({ key }: KeyboardEvent, items: readonly HTMLElement[], at: number): HTMLElement | undefined {
  if (key === "ArrowDown") return items[(at + 1) % items.length];
  if (key === "ArrowUp") return items.at(at - 1);
  if (key === "Home") return items[0];
  if (key === "End") return items.at(-1);
  if (key.length !== 1 || key === " ") return undefined;
  const fits = (item: HTMLElement): boolean =>
    item.textContent.trim().toLowerCase().startsWith(key.toLowerCase());
  return [...items.slice(at + 1), ...items.slice(0, at + 1)].find(fits);
}
