import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useEffect, useRef, useState } from "react";
import type { ChatMode, LiveTurn, NewMessage, SentMessage } from "../../../../src/api/contract/chat.ts";
import type { ShownSession, Turn } from "../../../../src/api/contract/sessions.ts";
import { useToasts } from "../../components/layout/toast.tsx";
import { useApi } from "../../data/app-data.tsx";
import { meQuery } from "../../data/queries.ts";
import { randomId } from "../../data/random-id.ts";
import { useDraft } from "../../data/use-draft.ts";
import { pageWords } from "../../words/page-words.ts";
import { sentenceOf } from "../../words/problem-words.ts";
import { chatQuery, choicesQuery, profilePath, turnPath } from "./chat-queries.ts";
import type { ChatView } from "./use-chat.ts";

/** The open session. */
interface OpenSession {
  readonly id: string;
  readonly view: ChatView;
  readonly session: ShownSession | undefined;
  readonly turns: readonly Turn[];
}

export interface ComposerState {
  readonly text: string;
  write(text: string): void;
  /** Adds a text to what is already in the field. */
  append(text: string): void;
  readonly problem: string | undefined;
  readonly running: LiveTurn | undefined;
  readonly busy: "send" | "steer" | "stop" | undefined;
  /** Sends the text; the server queues it while a turn runs. */
  send(): void;
  /** Sends the text as a note to the running turn. */
  steer(): void;
  stop(): void;
  readonly lastMessage: string | undefined;
  readonly model: string | null;
  chooseModel(model: string): void;
  readonly mode: ChatMode;
  chooseMode(mode: ChatMode): void;
  readonly mayWork: boolean;
  readonly isAdmin: boolean;
}

/** The field of a chat: its draft, what is sent with it, and what it can do to the running turn. */
export function useComposer(profile: string, open: OpenSession | undefined): ComposerState {
  const api = useApi();
  const client = useQueryClient();
  const navigate = useNavigate();
  const toasts = useToasts();
  const me = useQuery(meQuery(api)).data;
  const choices = useQuery(choicesQuery(api, profile)).data;
  const [text, setText] = useDraft(`chat ${profile} ${open?.id ?? ""}`);
  const [problem, setProblem] = useState<string>();
  const [chosen, setChosen] = useState<{ readonly model?: string; readonly mode?: ChatMode }>({});
  /** The id of the message, kept until it is sent, so that a repeated request sends it once. */
  const attempt = useRef<{ readonly id: string; readonly text: string }>(undefined);
  const latest = useRef(text);
  latest.current = text;
  const running = open?.view.running;
  const scopes = me?.signedIn === true ? me.scopes : [];

  const write = (next: string): void => {
    setProblem(undefined);
    setText(next);
  };
  const append = (more: string): void => {
    const now = latest.current;
    write(now.trim() === "" ? more : `${now.trimEnd()}\n\n${more}`);
  };
  /** Empties the field unless it was changed while the request was sent. */
  const clear = (sent: string): void => {
    if (latest.current === sent) write("");
  };

  const send = useMutation({
    mutationFn: (typed: string) => {
      if (attempt.current?.text !== typed) attempt.current = { id: randomId(), text: typed };
      const { id } = attempt.current;
      const session = open === undefined ? {} : { session: open.id };
      const message: NewMessage = { id, text: typed.trim(), ...session, ...chosen };
      return api.send<SentMessage>("POST", `${profilePath(profile)}/turns`, message);
    },
    onError: (error) => setProblem(sentenceOf(error)),
    async onSuccess({ session }, typed) {
      attempt.current = undefined;
      clear(typed);
      if (open === undefined) await navigate({ to: "/chat/$session", params: { session }, replace: true });
      else await client.invalidateQueries({ queryKey: chatQuery(api, profile, session).queryKey });
    },
  });
  const steer = useMutation({
    mutationFn: (typed: string) =>
      api.send("POST", `${turnPath(running?.id ?? "")}/steer`, { text: typed.trim() }),
    onError: (error) => setProblem(sentenceOf(error)),
    onSuccess: (_, typed) => clear(typed),
  });
  const stop = useMutation({
    mutationFn: () => api.send("POST", `${turnPath(running?.id ?? "")}/stop`),
    onError: (error) => toasts.refuse(sentenceOf(error)),
  });
  useLostQueue(open?.view, open?.turns, append);

  const isBusy = send.isPending || steer.isPending;
  return {
    ...{ text, write, append, problem, running },
    busy: send.isPending ? "send" : steer.isPending ? "steer" : stop.isPending ? "stop" : undefined,
    send() {
      if (text.trim() !== "" && !isBusy) send.mutate(text);
    },
    steer() {
      if (text.trim() !== "" && !isBusy && running !== undefined) steer.mutate(text);
    },
    stop() {
      if (running !== undefined && !stop.isPending) stop.mutate();
    },
    lastMessage: open?.turns
      .flatMap(({ entries }) => entries)
      .findLast((entry) => entry.type === "user" && !entry.isSteer)?.text,
    model: chosen.model ?? open?.session?.model ?? (open === undefined ? (choices?.model ?? null) : null),
    chooseModel: (model) => setChosen((earlier) => ({ ...earlier, model })),
    mode: chosen.mode ?? open?.view.chat?.mode ?? choices?.mode ?? "manual",
    chooseMode: (mode) => setChosen((earlier) => ({ ...earlier, mode })),
    mayWork: scopes.includes("work"),
    isAdmin: scopes.includes("admin"),
  };
}

/** Puts queued messages back into the field if a restart of the server has lost them. */
function useLostQueue(
  view: ChatView | undefined,
  turns: readonly Turn[] | undefined,
  append: (text: string) => void,
): void {
  const toasts = useToasts();
  const chat = view?.chat;
  const before = useRef(chat);
  // biome-ignore lint/correctness/useExhaustiveDependencies: it compares two answers of the server
  useEffect(() => {
    const earlier = before.current;
    before.current = chat;
    if (earlier === undefined || chat === undefined || epochOf(earlier.at) === epochOf(chat.at)) return;
    const known = new Set([...chat.queue.map(({ id }) => id), ...(turns ?? []).map(({ id }) => id)]);
    const lost = earlier.queue.filter(({ id }) => !known.has(id));
    if (lost.length === 0) return;
    append(lost.map(({ text }) => text).join("\n\n"));
    toasts.say(pageWords.chat.lost);
  }, [chat]);
}

/** A position names the process of the server in its first part. */
const epochOf = (at: string): string | undefined => at.split(".")[0];
