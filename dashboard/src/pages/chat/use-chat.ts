import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect, useRef, useState } from "react";
import type { Approval } from "../../../../src/api/contract/approvals.ts";
import type { ChatChange, LiveTurn, SessionChat, TurnEvent } from "../../../../src/api/contract/chat.ts";
import { useApi, useLive } from "../../data/app-data.tsx";
import { approvalsQuery, chatQuery, readTurn } from "./chat-queries.ts";
import { applyEvent } from "./live-turn.ts";

/** What happens in a session, kept up to date by events. */
export interface ChatView {
  readonly chat: SessionChat | undefined;
  readonly error: Error | null;
  /** The turns that this page has seen live, the running one last. */
  readonly turns: readonly LiveTurn[];
  readonly running: LiveTurn | undefined;
  /** Questions of the session that wait, of any process. */
  readonly questions: readonly Approval[];
}

export function useChat(profile: string, session: string): ChatView {
  const api = useApi();
  const live = useLive();
  const client = useQueryClient();
  const { data: chat, error } = useQuery({
    ...chatQuery(api, profile, session),
    refetchOnMount: "always",
  });
  const [turns, setTurns] = useState<readonly LiveTurn[]>([]);

  useEffect(
    () =>
      live.onEvent(({ name, data }) => {
        const change = data as ChatChange;
        const { queryKey } = chatQuery(api, profile, session);
        const isOurs = name === "chat-change" && change.session === session && change.profile === profile;
        if (isOurs || name === "reset") void client.invalidateQueries({ queryKey });
      }),
    [api, live, client, profile, session],
  );

  useEffect(() => {
    const read = chat?.turn;
    if (read) setTurns((known) => put(known, read));
  }, [chat?.turn]);

  const running = turns.findLast(({ facts }) => facts.state !== "ended");
  useFollowedTurn(running, setTurns);
  const questions = useQuestions(profile, session, running?.facts.questions);
  return { chat, error, turns, running, questions };
}

/** Replaces a turn unless a newer state of it is known. */
function put(turns: readonly LiveTurn[], turn: LiveTurn): readonly LiveTurn[] {
  const known = turns.find(({ id }) => id === turn.id);
  if (known === undefined) return [...turns, turn];
  return known.change >= turn.change ? turns : turns.map((each) => (each.id === turn.id ? turn : each));
}

/** Applies the events of the running turn, and reads it again when one was missed. */
function useFollowedTurn(
  running: LiveTurn | undefined,
  setTurns: (update: (turns: readonly LiveTurn[]) => readonly LiveTurn[]) => void,
): void {
  const api = useApi();
  const live = useLive();
  const id = running?.id;
  const latest = useRef(running);
  useEffect(() => {
    latest.current = running;
  });
  useEffect(() => {
    if (id === undefined) return;
    const topic = `turn:${id}`;
    let isReading = false;
    const reread = async (): Promise<void> => {
      if (isReading) return;
      isReading = true;
      const turn = await readTurn(api, id);
      isReading = false;
      setTurns((known) => (turn === undefined ? known.filter((each) => each.id !== id) : put(known, turn)));
    };
    const stopFollowing = live.follow(topic, null, ({ data }) => {
      const event = data as TurnEvent;
      setTurns((known) => {
        const before = known.find((each) => each.id === id);
        const after = before && applyEvent(before, event);
        if (after === undefined) {
          void reread();
          return known;
        }
        return after === before ? known : known.map((each) => (each.id === id ? after : each));
      });
    });
    const stopListening = live.onEvent(({ name, data }) => {
      const { topics } = (data ?? {}) as { topics?: readonly string[] | null };
      if (name === "reset" && (topics === null || topics?.includes(topic))) void reread();
      // The turn has ended, and its last events may have been missed.
      if (name === "chat-change") void reread();
    });
    const timer = setTimeout(() => void reread(), 300); // what happened until the server knew the topic
    return () => {
      clearTimeout(timer);
      stopListening();
      stopFollowing();
    };
  }, [api, live, id, setTurns]);
}

/** The questions of a turn of this server come with the turn, those of other processes from the list of all questions. */
function useQuestions(
  profile: string,
  session: string,
  own: readonly Approval[] | undefined,
): readonly Approval[] {
  const api = useApi();
  const live = useLive();
  const client = useQueryClient();
  const { data } = useQuery({ ...approvalsQuery(api), refetchOnMount: "always" });
  useEffect(
    () =>
      live.onEvent(({ name }) => {
        const { queryKey } = approvalsQuery(api);
        if (name === "needs-change" || name === "reset") void client.invalidateQueries({ queryKey });
      }),
    [api, live, client],
  );
  const all = data?.approvals ?? [];
  return own ?? all.filter((one) => one.profile === profile && one.sessionId === session);
}
