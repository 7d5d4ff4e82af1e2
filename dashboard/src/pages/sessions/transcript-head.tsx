import { Link } from "@tanstack/react-router";
import { useState } from "react";
import type { ShownSession } from "../../../../src/api/contract/sessions.ts";
import { Button } from "../../components/controls/button.tsx";
import { Menu } from "../../components/controls/menu.tsx";
import { Dialog } from "../../components/layout/dialog.tsx";
import { CopyLine } from "../../components/text/copy-line.tsx";
import { plainText } from "../../components/text/plain-text.ts";
import { ChatLink } from "../../shell/chat-link.tsx";
import { useProfile } from "../../shell/profile.tsx";
import { TaskLink } from "../../shell/task-link.tsx";
import { usePageTitle } from "../../shell/use-page-title.ts";
import { money } from "../../words/format.ts";
import { words } from "../../words/words.ts";
import { RemoveDialog, RenameDialog } from "./session-dialogs.tsx";
import styles from "./transcript-head.module.css";
import { useSessionChanges } from "./use-session-changes.ts";

const w = words.sessions;

/** The title of a session, its properties in one line, and its actions. */
export function TranscriptHead({ session }: { readonly session: ShownSession }) {
  const {
    id,
    profile,
    title,
    opening,
    model,
    costUsd,
    usage,
    cwd,
    source,
    task,
    family,
    parent,
    archivedAt,
  } = session;
  const shownProfile = useProfile();
  const [open, setOpen] = useState<"resume" | "export" | "rename" | "remove">();
  const { setArchived } = useSessionChanges(session);
  const name = plainText(title ?? opening) || w.untitled;
  usePageTitle(name);
  const close = (): void => setOpen(undefined);
  const origin = family.find((member) => member.id === parent);
  const branches = family.filter((member) => member.parent === id);
  return (
    <header className={styles.head}>
      <div className={styles.line}>
        <h1>
          <bdi>{name}</bdi>
          {profile !== shownProfile && <small> {w.of(profile)}</small>}
        </h1>
        <div className={styles.actions}>
          <ChatLink profile={profile} id={id}>
            {w.actions.resume}
          </ChatLink>
          <Button small onClick={() => setOpen("export")}>
            {w.actions.export}
          </Button>
          <Menu
            name={w.actions.more}
            aria-label={w.actions.more}
            kind="quiet"
            small
            icon="more"
            items={[
              { label: w.actions.resumeTitle, run: () => setOpen("resume") },
              { label: w.actions.rename, run: () => setOpen("rename") },
              {
                label: archivedAt === null ? w.actions.archive : w.actions.unarchive,
                run: () => setArchived(archivedAt === null),
              },
              "line",
              { label: w.actions.remove, danger: true, run: () => setOpen("remove") },
            ]}
          />
        </div>
      </div>
      <p className={styles.facts}>
        {model !== "" && <span>{model}</span>}
        {costUsd > 0 && <span>{money(costUsd)}</span>}
        {usage.inputTokens > 0 && usage.cacheReadTokens > 0 && (
          <span>{w.facts.cached(usage.cacheReadTokens / usage.inputTokens)}</span>
        )}
        <span>{w.facts.messages(session.messages)}</span>
        <span className="mono">{plainText(cwd)}</span>
        <span>{source}</span>
        {task !== null && (
          <span className={styles.link}>
            <TaskLink board={task.board} id={task.id}>
              {w.facts.task}
            </TaskLink>
          </span>
        )}
        {origin && (
          <span className={styles.link}>
            {w.facts.family} <SessionLink profile={profile} {...origin} />
          </span>
        )}
        {branches.length > 0 && (
          <span className={styles.link}>
            {w.facts.branches}{" "}
            {branches.map((branch) => (
              <SessionLink key={branch.id} profile={profile} {...branch} />
            ))}
          </span>
        )}
      </p>
      {open === "resume" && (
        <Dialog title={w.actions.resumeTitle} onClose={close}>
          <p className="soft">{w.actions.resumeText}</p>
          <CopyLine text={w.actions.resumeCommand(profile, id)} />
        </Dialog>
      )}
      {open === "export" && (
        <Dialog title={w.actions.exportTitle} onClose={close}>
          <p className="soft">{w.actions.resumeText}</p>
          <CopyLine text={w.actions.exportCommand(profile, id)} />
        </Dialog>
      )}
      {open === "rename" && <RenameDialog session={session} onClose={close} />}
      {open === "remove" && <RemoveDialog session={session} onClose={close} />}
    </header>
  );
}

function SessionLink({
  profile,
  id,
  title,
}: {
  readonly profile: string;
  readonly id: string;
  readonly title: string | null;
}) {
  return (
    <Link to="/sessions/$profile/$id" params={{ profile, id }}>
      <bdi>{plainText(title ?? "") || w.untitled}</bdi>
    </Link>
  );
}
