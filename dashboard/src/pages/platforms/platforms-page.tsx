import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { Platform, PlatformsAnswer } from "../../../../src/api/contract/setup/platforms.ts";
import { FailureNote, Note } from "../../components/layout/note.tsx";
import { emptyText, rowList, Section } from "../../components/layout/section.tsx";
import { CopyLine } from "../../components/text/copy-line.tsx";
import { plainText } from "../../components/text/plain-text.ts";
import { Ago } from "../../components/text/time.tsx";
import { useApi } from "../../data/app-data.tsx";
import { useProfile, useProfileTitle } from "../../shell/profile.tsx";
import { usePageTitle } from "../../shell/use-page-title.ts";
import { pageWords } from "../../words/page-words.ts";
import { words } from "../../words/words.ts";
import { Pairing } from "./pairing.tsx";
import { platformsQuery, usePlatformEvents } from "./platform-queries.ts";
import styles from "./platforms.module.css";

const w = pageWords.platforms;

/** The gateway of the profile, its platforms, and the people who wait to be let in. */
export function PlatformsPage() {
  const api = useApi();
  const profile = useProfile();
  const platforms = useQuery(platformsQuery(api, profile));
  usePlatformEvents(profile);
  usePageTitle(useProfileTitle(words.shell.pages.platforms));
  const { data } = platforms;
  return (
    <div className={styles.page}>
      <h1>{w.title(profile)}</h1>
      {data === undefined ? (
        platforms.error === null ? (
          <div className={styles.bones} aria-busy="true">
            <div className="bone" style={{ width: "34%" }} />
            <div className="bone" style={{ width: "58%" }} />
          </div>
        ) : (
          <FailureNote
            error={platforms.error}
            retry={() => void platforms.refetch()}
            busy={platforms.isFetching}
          />
        )
      ) : (
        <>
          <Gateway profile={profile} gateway={data.gateway} />
          <Platforms profile={profile} platforms={data.platforms} isRunning={data.gateway.isRunning} />
          <Pairing key={profile} profile={profile} answer={data} />
        </>
      )}
    </div>
  );
}

/** A gateway that has not shown for this long that it runs may hang. */
const SILENT_MS = 60_000;

function Gateway({ profile, gateway }: Pick<PlatformsAnswer, "gateway"> & { readonly profile: string }) {
  const { isRunning, pid, phase, seenAt, exitReason, writeProblem } = gateway;
  const isSilent = isRunning && seenAt !== null && Date.now() - seenAt > SILENT_MS;
  if (!isRunning)
    return (
      <Note actions={<CopyLine text={w.start(profile)} />}>
        {w.notRunning} {exitReason !== null && w.ended(plainText(exitReason))}
      </Note>
    );
  return (
    <Section title={w.gateway}>
      <p className={styles.gateway}>
        <span className="dot dot-on" />
        {w.phases[phase]}
        {pid !== null && <span className="faint">{w.running(pid)}</span>}
        {isSilent && (
          <span className={styles.waits}>
            {w.silent} <Ago at={seenAt} />
          </span>
        )}
      </p>
      {writeProblem !== null && <Note bad>{w.writeProblem(plainText(writeProblem))}</Note>}
    </Section>
  );
}

interface PlatformsProps {
  readonly profile: string;
  readonly platforms: readonly Platform[];
  readonly isRunning: boolean;
}

function Platforms({ profile, platforms, isRunning }: PlatformsProps) {
  const shown = platforms.filter(({ isOn, link }) => isOn || link !== null);
  const others = platforms.filter(({ isOn, link, name }) => !isOn && link === null && name !== "scripted");
  return (
    <Section title={w.platforms} fact={shown.length > 0 ? shown.length : undefined}>
      {shown.length === 0 && <p className={emptyText}>{w.none}</p>}
      <ul className={rowList}>
        {shown.map((platform) => (
          <PlatformRow key={platform.name} platform={platform} isRunning={isRunning} />
        ))}
      </ul>
      {others.length > 0 && (
        <div className={styles.setUp}>
          <span className="faint">
            {others.map(({ label }) => label).join(", ")}: {w.notSetUp}. {w.setUp}
          </span>
          <CopyLine text={w.setUpCommand(profile)} />
        </div>
      )}
    </Section>
  );
}

function PlatformRow({ platform, isRunning }: { readonly platform: Platform; readonly isRunning: boolean }) {
  const { label, link, missing } = platform;
  const isBad = link?.needsAttention === true || missing.length > 0;
  const dot =
    link?.state === "connected" ? "dot-on" : isBad ? "dot-red" : link === null ? "dot-hollow" : "dot-amber";
  const state = link === null ? (isRunning ? w.states.off : w.states.unknown) : w.states[link.state];
  return (
    <li className={styles.platform}>
      <span className={`dot ${dot}`} />
      <b>{label}</b>
      <span className={isBad ? styles.bad : "soft"}>
        {link?.needsAttention === true ? `${state}, ${w.attention}` : state}
      </span>
      <span className="faint">
        {link !== null &&
          (link.heardAt === null ? (
            w.neverHeard
          ) : (
            <>
              {w.heard} <Ago at={link.heardAt} />
            </>
          ))}
      </span>
      <Link
        to="/settings/$section"
        params={{ section: "platforms" }}
        search={{ q: `platforms.${platform.name}` }}
        className={styles.link}
      >
        {w.settings}
      </Link>
      {(link?.reason ?? null) !== null && <p className={styles.reason}>{plainText(link?.reason ?? "")}</p>}
      {link !== null && link.attempts > 0 && <p className={styles.reason}>{w.attempts(link.attempts)}</p>}
      {missing.length > 0 && <p className={styles.reason}>{w.missing(missing)}</p>}
    </li>
  );
}
