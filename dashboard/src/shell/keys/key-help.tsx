import { Fragment } from "react";
import { Dialog } from "../../components/layout/dialog.tsx";
import { words } from "../../words/words.ts";
import { labelOf, PAGES } from "../pages.ts";
import styles from "./key-help.module.css";
import { COMMAND_KEY, useKeyMap } from "./keys.tsx";

const { keys } = words.shell;

/** A list of all keys, and the switch for single-letter keys. */
export function KeyHelp({ onClose }: { onClose(): void }) {
  const { lettersOn, setLettersOn } = useKeyMap();
  const rows: readonly (readonly [string, string])[] = [
    [`${COMMAND_KEY}K`, keys.palette],
    ...PAGES.flat().map((page) => [`g ${page.letter}`, keys.goTo(labelOf(page))] as const),
    ["c", keys.newTask],
    ["/", keys.filter],
    ["j k", keys.rows],
    ["Enter", keys.open],
    ["r", keys.answer],
    ["Esc", keys.escape],
    ["?", keys.help],
  ];
  return (
    <Dialog title={keys.title} onClose={onClose}>
      <dl className={styles.keys}>
        {rows.map(([combination, does]) => (
          <Fragment key={combination}>
            <dt>
              {combination.split(" ").map((key) => (
                <kbd key={key}>{key}</kbd>
              ))}
            </dt>
            <dd>{does}</dd>
          </Fragment>
        ))}
      </dl>
      <label className={styles.letters}>
        <input type="checkbox" checked={lettersOn} onChange={(event) => setLettersOn(event.target.checked)} />
        <span>
          {keys.single}
          <small>{keys.singleHint}</small>
        </span>
      </label>
    </Dialog>
  );
}
