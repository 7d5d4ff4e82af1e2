import { useState } from "react";
import type { Call } from "../../../src/api/contract/sessions.ts";
import { Icon } from "../components/controls/icon.tsx";
import { DiffView, isDiff } from "../components/text/diff-view.tsx";
import { plainText } from "../components/text/plain-text.ts";
import { useApi } from "../data/app-data.tsx";
import { duration, size } from "../words/format.ts";
import { words } from "../words/words.ts";
import styles from "./call-fold.module.css";

const w = words.sessions.turns;

interface CallFoldProps {
  readonly calls: readonly Call[];
  /** The path of the session below `api/`. */
  readonly path: string;
}

/** The calls of some steps, folded into one line. It unfolds to the calls, and each call to its input and output. */
export function CallFold({ calls, path }: CallFoldProps) {
  const [isOpen, setOpen] = useState(false);
  const [only] = calls;
  if (calls.length === 1 && only !== undefined) {
    return (
      <ul className={styles.calls}>
        <OneCall call={only} path={path} />
      </ul>
    );
  }
  const failed = calls.filter(({ state }) => isBad(state)).length;
  const ms = calls.reduce((sum, { durationMs }) => sum + (durationMs ?? 0), 0);
  return (
    <details className={styles.fold} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>
        <Icon name="chevron" />
        <b>{w.calls(calls.length)}</b>
        <span className="clip">{w.tally(tally(calls))}</span>
        {failed > 0 && <span className={styles.bad}>{w.failed(failed)}</span>}
        {ms > 0 && <span className={styles.time}>{duration(ms)}</span>}
      </summary>
      {isOpen && (
        <ul className={styles.calls}>
          {calls.map((call) => (
            <OneCall key={call.callId} call={call} path={path} />
          ))}
        </ul>
      )}
    </details>
  );
}

function tally(calls: readonly Call[]): readonly (readonly [string, number])[] {
  const counts = new Map<string, number>();
  for (const { tool } of calls) counts.set(tool, (counts.get(tool) ?? 0) + 1);
  return [...counts].toSorted(([, one], [, other]) => other - one);
}

const isBad = (state: Call["state"]): boolean =>
  state === "failed" || state === "denied" || state === "unknown";

function OneCall({ call, path }: { readonly call: Call; readonly path: string }) {
  const [isOpen, setOpen] = useState(false);
  const { tool, text, state, durationMs } = call;
  const isLive = state === "started";
  return (
    <li>
      <details className={styles.call} onToggle={(event) => setOpen(event.currentTarget.open)}>
        <summary>
          <Icon name="chevron" />
          <span className={styles.tool}>{tool}</span>
          <span className="mono clip">{plainText(text)}</span>
          {state !== "ok" && (
            <span className={isBad(state) ? styles.bad : isLive ? styles.live : styles.state}>
              {w.states[state]}
            </span>
          )}
          {durationMs !== null && <span className={styles.time}>{duration(durationMs)}</span>}
        </summary>
        {isOpen && <CallBody call={call} path={path} />}
      </details>
    </li>
  );
}

function CallBody({ call, path }: { readonly call: Call; readonly path: string }) {
  const api = useApi();
  const { callId, input, output, outputBytes, display } = call;
  const shown = plainText(output);
  const isCut = outputBytes > new Blob([output]).size;
  return (
    <div className={styles.body}>
      <Text label={w.input} text={pretty(input)} />
      {display !== null && isDiff(display) && <DiffView text={plainText(display)} />}
      {shown === "" ? <p className="faint">{w.noOutput}</p> : <Text label={w.output} text={shown} />}
      {isCut && (
        <a
          href={api.url(`${path}/outputs/${encodeURIComponent(callId)}`).href}
          download
          className={styles.whole}
        >
          {w.whole(size(outputBytes))}
        </a>
      )}
    </div>
  );
}

function Text({ label, text }: { readonly label: string; readonly text: string }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by keyboard
    <section aria-label={label} className={styles.output} tabIndex={0}>
      {text}
    </section>
  );
}

function pretty(input: string): string {
  try {
    return plainText(JSON.stringify(JSON.parse(input), undefined, 2));
  } catch {
    return plainText(input);
  }
}
