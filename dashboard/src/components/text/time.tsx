import { useEffect, useState } from "react";
import { elapsed, exactTime, span, when } from "../../words/format.ts";

/** The current time, updated while the page is visible. */
export function useNow(everyMs: number): number {
  const [now, setNow] = useState(Date.now);
  useEffect(() => {
    const tick = (): void => {
      if (!document.hidden) setNow(Date.now());
    };
    const timer = setInterval(tick, everyMs);
    document.addEventListener("visibilitychange", tick);
    return () => {
      clearInterval(timer);
      document.removeEventListener("visibilitychange", tick);
    };
  }, [everyMs]);
  return now;
}

const MINUTE = 60_000;

interface TimeProps {
  readonly at: number;
  readonly className?: string | undefined;
}

/** How long ago something was: "12 min". */
export function Ago({ at, className }: TimeProps) {
  const now = useNow(Date.now() - at < MINUTE ? 1_000 : 20_000);
  return <Stamp at={at} text={span(now - at)} className={className} />;
}

/** How long something has been running: "14:08". */
export function Elapsed({
  since,
  className,
}: {
  readonly since: number;
  readonly className?: string | undefined;
}) {
  const now = useNow(1_000);
  return <Stamp at={since} text={elapsed(now - since)} className={className} />;
}

/** The time of day, or the date if it is not today. */
export function When({ at, className }: TimeProps) {
  const now = useNow(MINUTE);
  return <Stamp at={at} text={when(at, now)} className={className} />;
}

function Stamp({ at, text, className }: TimeProps & { readonly text: string }) {
  return (
    <time dateTime={new Date(at).toISOString()} title={exactTime(at)} className={className}>
      {text}
    </time>
  );
}
