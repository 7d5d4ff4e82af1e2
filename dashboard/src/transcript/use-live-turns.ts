import { useQueryClient } from "@tanstack/react-query";
import { useEffect } from "react";
import type { SessionChange, TurnsAnswer } from "../../../src/api/contract/sessions.ts";
import { useApi, useLive } from "../data/app-data.tsx";
import { replaceEnd, sessionPath, sessionQuery, turnsQuery } from "./session-queries.ts";

const GATHER_MS = 250;

/** Reads the end of the transcript again when another process adds to it. */
export function useLiveTurns(profile: string, id: string): void {
  const api = useApi();
  const live = useLive();
  const client = useQueryClient();
  useEffect(() => {
    const end = turnsQuery(api, profile, id);
    const facts = sessionQuery(api, profile, id);
    let timer = 0;
    let leaving = new AbortController();
    const refresh = async (): Promise<void> => {
      timer = 0;
      leaving.abort();
      leaving = new AbortController();
      void client.invalidateQueries({ queryKey: facts.queryKey });
      const answer = await api
        .get<TurnsAnswer>(`${sessionPath(profile, id)}/turns`, leaving.signal)
        .catch(() => undefined);
      if (answer !== undefined) client.setQueryData(end.queryKey, (old) => replaceEnd(old, answer));
    };
    const stop = live.onEvent(({ name, data }) => {
      const { turns, sessions } = (data ?? {}) as Partial<SessionChange>;
      const isOurs =
        name === "reset" ||
        (name === "session-change" &&
          (turns?.some(({ session }) => session === id) || sessions?.some((session) => session.id === id)));
      if (isOurs) timer ||= window.setTimeout(() => void refresh(), GATHER_MS);
    });
    return () => {
      stop();
      clearTimeout(timer);
      leaving.abort();
    };
  }, [api, live, client, profile, id]);
}
