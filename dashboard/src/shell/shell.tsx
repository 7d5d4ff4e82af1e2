import { Link, useNavigate, useRouterState } from "@tanstack/react-router";
import { type ReactNode, useState } from "react";
import type { Me } from "../../../src/api/contract/access.ts";
import { Button } from "../components/controls/button.tsx";
import { Icon } from "../components/controls/icon.tsx";
import { Menu } from "../components/controls/menu.tsx";
import { Note } from "../components/layout/note.tsx";
import { useMedia } from "../components/layout/use-media.ts";
import { words } from "../words/words.ts";
import { AppearanceMenu } from "./appearance-menu.tsx";
import { Brand } from "./brand.tsx";
import { ConnectionNote, LiveState } from "./connection.tsx";
import { KeyHelp } from "./keys/key-help.tsx";
import { COMMAND_KEY, useKeys } from "./keys/keys.tsx";
import { labelOf, PAGES, type PageRow } from "./pages.ts";
import { Palette } from "./palette/palette.tsx";
import { OwnProfile, ProfileSwitcher } from "./profile.tsx";
import styles from "./shell.module.css";
import { useNeedsCount } from "./use-needs-count.ts";
import { useNewTask } from "./use-new-task.ts";

interface ShellProps {
  readonly me: Extract<Me, { signedIn: true }>;
  readonly children: ReactNode;
}

/** The frame around every page: navigation, search, connection state. */
export function Shell({ me, children }: ShellProps) {
  const [open, setOpen] = useState<"palette" | "keys">();
  const navigate = useNavigate();
  const close = (): void => setOpen(undefined);
  const goTo = Object.fromEntries(
    PAGES.flat().map(({ path, letter }) => [`g ${letter}`, () => void navigate({ to: path })]),
  );
  const newTask = useNewTask();
  const mayWork = me.scopes.includes("work");
  useKeys({
    "mod+k": () => setOpen("palette"),
    "?": () => setOpen("keys"),
    c: () => {
      if (!mayWork) return false;
      newTask();
    },
    ...goTo,
  });
  const path = useRouterState({ select: ({ location }) => location.pathname });
  const isSmall = useMedia("(max-width: 1100px)");
  const isBoard = path.startsWith("/board");

  return (
    <OwnProfile value={me.profile}>
      <a className={styles.skip} href={`${path}#main`} onClick={skipToMain}>
        {words.shell.skip}
      </a>
      <div
        className={`${styles.shell} ${isBoard || isSmall ? styles.narrow : ""} ${isBoard ? styles.bare : ""}`}
      >
        <aside className={styles.rail} aria-label={words.shell.name}>
          <Link to="/" className={styles.brand} aria-label={words.shell.name}>
            <Brand />
            <span>{words.shell.name}</span>
          </Link>
          <ProfileSwitcher />
          <nav className={styles.groups} aria-label={words.shell.navigation}>
            {PAGES.map((group) => (
              <div key={group[0]?.path} className={styles.nav}>
                {group.map((page) => (
                  <PageLink key={page.path} page={page} />
                ))}
              </div>
            ))}
          </nav>
          <div className={styles.foot}>
            <LiveState />
            <span className={styles.version}>{me.version}</span>
            <AppearanceMenu className={styles.theme} />
          </div>
        </aside>
        <main className={styles.main} id="main" tabIndex={-1}>
          <div className={styles.bar}>
            <button type="button" className={styles.find} onClick={() => setOpen("palette")}>
              <Icon name="search" />
              <span>{words.shell.find}</span>
              <span aria-hidden="true">
                <kbd>{COMMAND_KEY}K</kbd>
              </span>
            </button>
            {mayWork && (
              <Button kind="main" icon="plus" className={styles.barEnd} onClick={newTask}>
                {words.shell.newTask}
              </Button>
            )}
          </div>
          <header className={styles.phoneBar}>
            <PhoneTitle />
            <Button
              kind="quiet"
              icon="search"
              aria-label={words.shell.find}
              onClick={() => setOpen("palette")}
            />
            {mayWork && (
              <Button kind="quiet" icon="plus" aria-label={words.shell.newTask} onClick={newTask} />
            )}
          </header>
          {me.insecure && <Note>{words.shell.insecure}</Note>}
          <ConnectionNote />
          {children}
        </main>
        <nav className={styles.tabBar} aria-label={words.shell.navigation}>
          {PAGES.flat()
            .slice(0, PAGES.flat().length > SHORT ? SHORT - 1 : SHORT)
            .map((page) => (
              <PageLink key={page.path} page={page} />
            ))}
          {PAGES.flat().length > SHORT && <MorePages />}
        </nav>
      </div>
      {open === "palette" && <Palette onClose={close} onKeys={() => setOpen("keys")} />}
      {open === "keys" && <KeyHelp onClose={close} />}
    </OwnProfile>
  );
}

/** How many places the bar of a phone has. */
const SHORT = 5;

/** The pages for which the bar of a phone has no place. */
function MorePages() {
  const navigate = useNavigate();
  return (
    <Menu
      name={words.shell.morePages}
      kind="quiet"
      icon="more"
      className={styles.morePages}
      items={PAGES.flat()
        .slice(SHORT - 1)
        .map((page) => ({
          label: labelOf(page),
          icon: page.icon,
          run: () => void navigate({ to: page.path }),
        }))}
    >
      <span>{words.shell.more}</span>
    </Menu>
  );
}

function PageLink({ page }: { readonly page: PageRow }) {
  return (
    <Link to={page.path} activeOptions={{ exact: page.path === "/" }} title={labelOf(page)}>
      <Icon name={page.icon} />
      <span>{labelOf(page)}</span>
      {page.name === "overview" && <NeedsCount />}
    </Link>
  );
}

function NeedsCount() {
  const count = useNeedsCount();
  if (count === 0) return null;
  return (
    <span className={`${styles.count} ${styles.needs}`}>
      <span aria-hidden="true">{count}</span>
      <span className="unseen">, {words.shell.needs(count)}</span>
    </span>
  );
}

function PhoneTitle() {
  const path = useRouterState({ select: ({ location }) => location.pathname });
  const page = PAGES.flat().find(({ path: own }) => (own === "/" ? path === own : path.startsWith(own)));
  return <span>{page ? labelOf(page) : words.shell.name}</span>;
}

/** Does not follow the link, because its hash would become part of the address. */
function skipToMain(event: { preventDefault(): void }): void {
  event.preventDefault();
  document.getElementById("main")?.focus();
}
