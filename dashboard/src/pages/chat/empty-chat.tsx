import { useQuery } from "@tanstack/react-query";
import { FailureNote } from "../../components/layout/note.tsx";
import { CopyLine } from "../../components/text/copy-line.tsx";
import { useApi } from "../../data/app-data.tsx";
import { pageWords } from "../../words/page-words.ts";
import { choicesQuery } from "./chat-queries.ts";
import styles from "./empty-chat.module.css";

const w = pageWords.chat.empty;

/** Before the first message: things to ask, or how to get a model. */
export function EmptyChat({ profile, onAsk }: { readonly profile: string; onAsk(text: string): void }) {
  const choices = useQuery(choicesQuery(useApi(), profile));
  const { data, error } = choices;
  if (error !== null)
    return <FailureNote error={error} retry={() => void choices.refetch()} busy={choices.isFetching} />;
  if (data === undefined) return <div className={styles.empty} />;
  if (data.model === null) {
    return (
      <div className={styles.empty}>
        <h2>{w.none}</h2>
        {data.problem !== null && <p className="soft">{data.problem.message}</p>}
        <dl>
          <dt>{w.setup}</dt>
          <dd>
            <CopyLine text={w.setupCommand} />
          </dd>
          <dt>{w.local}</dt>
          <dd>
            <CopyLine text={w.localCommand} />
          </dd>
        </dl>
      </div>
    );
  }
  return (
    <div className={styles.empty}>
      <h2>{w.title}</h2>
      <ul>
        {w.asks.map((text) => (
          <li key={text}>
            <button
              type="button"
              onClick={() => {
                onAsk(text);
                document.querySelector<HTMLElement>("article textarea")?.focus();
              }}
            >
              {text}
            </button>
          </li>
        ))}
      </ul>
    </div>
  );
}
