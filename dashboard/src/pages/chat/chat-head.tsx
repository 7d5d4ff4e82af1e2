import { useInfiniteQuery } from "@tanstack/react-query";
import { Link, useNavigate } from "@tanstack/react-router";
import { useContext } from "react";
import type { ShownSession } from "../../../../src/api/contract/sessions.ts";
import buttons from "../../components/controls/button.module.css";
import { Icon } from "../../components/controls/icon.tsx";
import { Menu, type MenuEntry } from "../../components/controls/menu.tsx";
import { plainText } from "../../components/text/plain-text.ts";
import { useApi } from "../../data/app-data.tsx";
import { OwnProfile } from "../../shell/profile.tsx";
import { usePageTitle } from "../../shell/use-page-title.ts";
import { sessionsQuery } from "../../transcript/session-queries.ts";
import { money } from "../../words/format.ts";
import { pageWords } from "../../words/page-words.ts";
import { words } from "../../words/words.ts";
import styles from "./chat-head.module.css";

const w = pageWords.chat;
const SHOWN = 10;

interface ChatHeadProps {
  readonly profile: string;
  readonly session: ShownSession | undefined;
}

/** The title of the session, and the ways to other sessions. */
export function ChatHead({ profile, session }: ChatHeadProps) {
  const own = useContext(OwnProfile);
  const name = session === undefined ? w.fresh : nameOf(session);
  usePageTitle(session === undefined ? w.open : name);
  return (
    <header className={styles.head}>
      <h1>
        <bdi className="clip">{name}</bdi>
        {profile !== own && <small> {words.sessions.of(profile)}</small>}
      </h1>
      {session !== undefined && session.costUsd > 0 && (
        <span className={styles.cost}>{money(session.costUsd)}</span>
      )}
      <div className={styles.actions}>
        {session !== undefined && (
          <Link
            to="/sessions/$profile/$id"
            params={{ profile, id: session.id }}
            className={`${buttons.button} ${buttons.quiet} ${buttons.small}`}
          >
            {w.transcript}
          </Link>
        )}
        <RecentSessions profile={profile} open={session?.id} />
        {session !== undefined && (
          <Link to="/chat" className={`${buttons.button} ${buttons.plain} ${buttons.small}`}>
            <Icon name="plus" /> {w.fresh}
          </Link>
        )}
      </div>
    </header>
  );
}

const nameOf = ({ title, opening }: Pick<ShownSession, "title" | "opening">): string =>
  plainText(title ?? opening) || words.sessions.untitled;

function RecentSessions({ profile, open }: { readonly profile: string; readonly open: string | undefined }) {
  const navigate = useNavigate();
  const { data } = useInfiniteQuery(sessionsQuery(useApi(), profile, {}));
  const sessions = data?.pages[0]?.sessions.slice(0, SHOWN) ?? [];
  if (sessions.length === 0) return null;
  return (
    <Menu
      name={w.recent}
      aria-label={w.recent}
      kind="quiet"
      small
      icon="sessions"
      items={sessions.map(
        (session): MenuEntry => ({
          label: nameOf(session),
          checked: session.id === open,
          run: () => void navigate({ to: "/chat/$session", params: { session: session.id } }),
        }),
      )}
    />
  );
}
