import { useEffect, useRef, useState } from "react";
import type { LogAnswer, LogLines } from "../../../../src/api/contract/logs.ts";
import { useAppData } from "../../data/app-data.tsx";
import { appendLines, type LogRows, openRows, prependPage } from "./log-rows.ts";
import { type LogSearch, toFilter } from "./log-search.ts";

/** The lines of a log that meet the search, kept current through the stream. Draws at most once a frame. */
export function useLog(profile: string, search: LogSearch) {
  const { api, live } = useAppData();
  const [rows, setRows] = useState<LogRows>();
  const [error, setError] = useState<unknown>();
  const [round, setRound] = useState(0);
  const [isReadingOlder, setReadingOlder] = useState(false);
  const current = useRef<LogRows>(undefined);
  const file = search.file ?? "agent";
  const key = JSON.stringify(search);
  const path = (before?: string): string => {
    const filter = { ...toFilter(search, Date.now()), file, ...(before === undefined ? {} : { before }) };
    const query = new URLSearchParams(Object.entries(filter).map(([name, value]) => [name, String(value)]));
    return `profiles/${encodeURIComponent(profile)}/logs?${query}`;
  };

  // biome-ignore lint/correctness/useExhaustiveDependencies: `path` depends on the profile and the search; another round reads again
  useEffect(() => {
    const ended = new AbortController();
    const { signal } = ended;
    const filter = toFilter(search, Date.now());
    let frame = 0;
    let stop: (() => void) | undefined;
    const draw = (): void => {
      cancelAnimationFrame(frame);
      frame = requestAnimationFrame(() => setRows(current.current));
    };
    const read = async (): Promise<void> => {
      try {
        const answer = await api.get<LogAnswer>(path(), signal);
        current.current = openRows(answer);
        setError(undefined);
        draw();
        stop?.();
        stop = live.follow(`log:${profile}/${file}`, answer.at, ({ name, data }) => {
          if (name !== "log-line" || current.current === undefined) return;
          current.current = appendLines(current.current, data as LogLines, filter);
          draw();
        });
      } catch (thrown) {
        if (!signal.aborted) setError(thrown);
      }
    };
    const stopEvents = live.onEvent(({ name }) => {
      if (name === "reset") void read();
    });
    void read();
    return () => {
      ended.abort();
      cancelAnimationFrame(frame);
      stop?.();
      stopEvents();
      current.current = undefined;
      setRows(undefined);
    };
  }, [api, live, profile, file, key, round]);

  async function readOlder(): Promise<void> {
    const shown = current.current;
    if (shown === undefined || shown.older === null || isReadingOlder) return;
    setReadingOlder(true);
    try {
      const page = await api.get<LogAnswer>(path(shown.older));
      // Another search may have begun, or the rows may have grown meanwhile.
      if (current.current?.older !== shown.older) return;
      current.current = prependPage(current.current, page);
      setRows(current.current);
    } catch (thrown) {
      setError(thrown);
    } finally {
      setReadingOlder(false);
    }
  }

  return { rows, error, retry: () => setRound((count) => count + 1), readOlder, isReadingOlder };
}
