import { useEffect, useRef, useState } from "react";
import { Button } from "../components/controls/button.tsx";
import { Note } from "../components/layout/note.tsx";
import { useNow } from "../components/text/time.tsx";
import { useLive, useLiveStatus } from "../data/app-data.tsx";
import type { LiveStatus } from "../data/live-status.ts";
import { timeOfDay } from "../words/format.ts";
import { words } from "../words/words.ts";
import styles from "./connection.module.css";

/** The state of the connection, as a dot and a word. */
export function LiveState() {
  const { state } = useLiveStatus();
  const dot = { live: "dot-on", lost: "dot-red", connecting: "dot-hollow", away: "dot-hollow" }[state];
  return (
    <span className={styles.state}>
      <span className={`dot ${dot}`} />
      <span className={styles.word}>{words.shell.live[state]}</span>
    </span>
  );
}

/** Reports that the connection is lost, and that it is back. */
export function ConnectionNote() {
  const status = useLiveStatus();
  const wasLost = useRef(false);
  const [isBack, setBack] = useState(false);
  useEffect(() => {
    if (status.state === "lost") wasLost.current = true;
    else if (status.state === "live" && wasLost.current) {
      wasLost.current = false;
      setBack(true);
    }
  }, [status.state]);
  return (
    <>
      <div role="alert" className={styles.note}>
        {status.state === "lost" && <Lost {...status} />}
      </div>
      <div role="status" className="unseen">
        {isBack && status.state === "live" ? words.shell.reconnected : ""}
      </div>
    </>
  );
}

function Lost({ lostAt = 0, retryAt = 0 }: LiveStatus) {
  const live = useLive();
  const now = useNow(1_000);
  const seconds = Math.max(0, Math.ceil((retryAt - now) / 1_000));
  return (
    <Note
      icon="lost"
      actions={
        <Button small onClick={live.retry}>
          {words.shell.tryNow}
        </Button>
      }
    >
      {words.shell.lost(timeOfDay(lostAt))} <span aria-hidden="true">{words.shell.retryIn(seconds)}</span>
    </Note>
  );
}
