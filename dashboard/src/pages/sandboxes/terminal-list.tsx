import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { Button } from "../../components/controls/button.tsx";
import { emptyText, rowList, Section } from "../../components/layout/section.tsx";
import { Ago } from "../../components/text/time.tsx";
import { useApi } from "../../data/app-data.tsx";
import { terminalsQuery, useCloseTerminal, useOpenTerminal } from "../../terminal/use-terminals.ts";
import { pageWords } from "../../words/page-words.ts";
import { useShellRefusal } from "./sandbox-queries.ts";
import styles from "./snapshot-list.module.css";

const w = pageWords.terminals;

/** The open terminals, which keep running while no page shows them. */
export function TerminalList({ profile }: { readonly profile: string }) {
  const refusal = useShellRefusal();
  const list = useQuery({ ...terminalsQuery(useApi()), enabled: refusal === undefined });
  const open = useOpenTerminal();
  const close = useCloseTerminal();
  const terminals = list.data?.terminals ?? [];
  const newChat = (
    <Button
      small
      disabled={refusal !== undefined}
      title={refusal}
      busy={open.isPending}
      onClick={() => open.mutate({ kind: "chat", profile })}
    >
      {w.newChat}
    </Button>
  );
  return (
    <div className={styles.around}>
      <Section title={w.title} fact={terminals.length > 0 ? terminals.length : undefined} end={newChat}>
        {terminals.length === 0 && <p className={emptyText}>{refusal ?? w.none}</p>}
        <ul className={rowList}>
          {terminals.map(({ id, kind, subject, startedAt, isAttached }) => (
            <li key={id} className={styles.row}>
              <span className={styles.name}>
                <b className="clip">
                  <Link to="/terminals/$id" params={{ id }}>
                    {w.nameOf(w.kinds[kind], subject)}
                  </Link>
                </b>
                {isAttached && <small>{w.attached}</small>}
              </span>
              <Ago at={startedAt} className={styles.when} />
              <Button small busy={close.isPending} onClick={() => close.mutate(id)}>
                {w.close}
              </Button>
            </li>
          ))}
        </ul>
      </Section>
    </div>
  );
}
