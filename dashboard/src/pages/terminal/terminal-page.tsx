import { useQuery } from "@tanstack/react-query";
import { Link, useNavigate, useParams } from "@tanstack/react-router";
import { lazy, Suspense } from "react";
import { Button } from "../../components/controls/button.tsx";
import { Icon } from "../../components/controls/icon.tsx";
import { useApi } from "../../data/app-data.tsx";
import { usePageTitle } from "../../shell/use-page-title.ts";
import { terminalsQuery, useCloseTerminal } from "../../terminal/use-terminals.ts";
import { pageWords } from "../../words/page-words.ts";
import styles from "./terminal-page.module.css";

const w = pageWords.terminals;
/** The terminal measures its font once, so the font is loaded first. */
const TerminalScreen = lazy(async () => {
  const [{ TerminalScreen: screen }] = await Promise.all([
    import("../../terminal/terminal-screen.tsx"),
    document.fonts.load('13px "Geist Mono"'),
  ]);
  return { default: screen };
});

/** One terminal on the whole page. */
export function TerminalPage() {
  const { id } = useParams({ from: "/terminals/$id" });
  const navigate = useNavigate();
  const terminal = useQuery(terminalsQuery(useApi())).data?.terminals.find((other) => other.id === id);
  const close = useCloseTerminal();
  const name = terminal === undefined ? w.title : w.nameOf(w.kinds[terminal.kind], terminal.subject);
  usePageTitle(name);
  return (
    <div className={styles.page}>
      <header className={styles.head}>
        <Link to="/sandboxes" className={styles.back}>
          <Icon name="back" /> {w.back}
        </Link>
        <h1 className="clip">
          <bdi>{name}</bdi>
        </h1>
        <Button
          small
          busy={close.isPending}
          onClick={() => close.mutate(id, { onSuccess: () => void navigate({ to: "/sandboxes" }) })}
        >
          {w.close}
        </Button>
      </header>
      <Suspense fallback={<p className="soft">{w.opening}</p>}>
        <TerminalScreen key={id} id={id} label={w.label(w.title)} />
      </Suspense>
    </div>
  );
}
