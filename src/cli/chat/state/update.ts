import type { PendingCall } from "../../../agent/events.ts";
import { mainArgument } from "../../../agent/main-argument.ts";
import type { Approval } from "../../../approvals/approval.ts";
import { DECIDE_YOURSELF, parseClarification } from "../../../approvals/clarification.ts";
import type { JobRecord } from "../../../environments/jobs/job.ts";
import { AppError } from "../../../lib/errors.ts";
import { shorten } from "../../../lib/text/shorten.ts";
import { formatDuration } from "../format-duration.ts";
import type { Unsent } from "../unsent/unsent-store.ts";
import type { BusyMode, ChatFacts, ChatMode, ChatState, Effect, Question, Update } from "./chat-state.ts";
import type { Entry } from "./entry.ts";
import { parseCommand } from "./parse-command.ts";

/** The initial counters of a session. */
type SessionCounters = Pick<ChatState, "lastCall" | "contextUsed" | "costUsd">;

/** The inputs of a chat, apart from the events of the agent. */
export type ChatInput =
  | ({ readonly type: "opened"; readonly facts: ChatFacts; readonly mode: ChatMode } & SessionCounters)
  | { readonly type: "mode"; readonly mode: ChatMode }
  | { readonly type: "busy-mode"; readonly mode: BusyMode }
  | { readonly type: "submit"; readonly text: string; readonly startedTypingAt: number }
  | { readonly type: "key"; readonly key: "stop" | "interrupt" | "leave"; readonly draft: string }
  /** Puts a queued message back into the input line, by default the newest. */
  | { readonly type: "take-back"; readonly number?: number }
  | { readonly type: "queue"; readonly text: string }
  | { readonly type: "steer"; readonly text: string }
  | { readonly type: "drop-queue" }
  | { readonly type: "command-start"; readonly text: string; readonly isExclusive: boolean }
  | { readonly type: "command-end"; readonly text: string }
  /** A message could not be stored; `draft` is what has been typed since. */
  | { readonly type: "give-back"; readonly text: string; readonly draft: string }
  /** An earlier chat of this session left texts; `draft` is what has been typed in this one. */
  | { readonly type: "restored"; readonly unsent: Unsent; readonly draft: string }
  | ({ readonly type: "display" } & Pick<ChatState, "showsReasoning" | "hasMotion" | "statusFields">)
  /** The jobs of the session: how many are running, and which have ended since the last poll. */
  | { readonly type: "jobs"; readonly running: number; readonly ended: readonly JobRecord[] }
  /** A crash has cut off the last turn of the session; these calls have no result. */
  | { readonly type: "cut-off"; readonly calls: readonly PendingCall[] }
  | { readonly type: "notice"; readonly text: string }
  | { readonly type: "failed"; readonly text: string; readonly hint: string | undefined };

/** A second Ctrl-C within this time leaves the chat. */
const LEAVE_MS = 2_000;
/** A number typed this soon after a question appeared was probably meant for something else. */
const TOO_EARLY_MS = 1_000;

/** The next state, what to print and what to do. Pure: the same input at the same time gives the same result. */
export function update(state: ChatState, input: ChatInput, now: number): Update {
  switch (input.type) {
    case "opened":
      return result({ ...state, ...onOpened(state, input) }, greet(input.facts), sendWaiting(state));
    case "mode":
      return result({ ...state, mode: input.mode });
    case "busy-mode":
      return result({ ...state, busyMode: input.mode });
    case "submit":
      return submit(state, input);
    case "key":
      return pressKey(state, input, now);
    case "take-back": {
      const { number = state.queue.length } = input;
      const text = state.queue[number - 1];
      if (text === undefined) return result(state);
      return result({ ...state, queue: state.queue.toSpliced(number - 1, 1) }, [], [{ type: "edit", text }]);
    }
    case "queue":
      // Not `send`: a command that changes the session, such as `/retry`, may send a message before it has ended.
      return state.turn === undefined && state.facts !== undefined
        ? result(state, [], [{ type: "send", text: input.text }])
        : send(state, input.text);
    case "steer":
      return steer(state, input.text);
    case "drop-queue":
      return result({ ...state, queue: [], isQueueHeld: false });
    case "command-start": {
      const { text, isExclusive } = input;
      return result({ ...state, commands: [...state.commands, { text, isExclusive, startedAt: now }] });
    }
    case "command-end":
      return endCommand(state, input.text);
    case "give-back":
      return giveBack(state, input.text, input.draft);
    case "restored":
      return restore(state, input.unsent, input.draft);
    case "display": {
      const { showsReasoning, hasMotion, statusFields } = input;
      return result({ ...state, showsReasoning, hasMotion, statusFields });
    }
    case "jobs":
      return result({ ...state, jobs: input.running }, input.ended.map(noticeOfEnd));
    case "cut-off":
      return offerToContinue(state, input.calls);
    case "notice":
      return result(state, [{ kind: "notice", text: input.text }]);
    case "failed":
      return result(state, [{ kind: "error", text: input.text, hint: input.hint }]);
  }
}

export function result(
  state: ChatState,
  entries: readonly Entry[] = [],
  effects: readonly Effect[] = [],
): Update {
  return { state, entries, effects };
}

const EMPTY = { jobs: 0, steers: [], questions: [], cutOff: [] } as const;

/** The changes when a session is opened. Another session starts with its own counters; queued messages are kept. */
function onOpened(
  state: ChatState,
  { facts, mode, lastCall, contextUsed, costUsd }: Extract<ChatInput, { type: "opened" }>,
): Partial<ChatState> {
  const isOther = state.facts?.sessionId !== facts.sessionId;
  return {
    facts,
    mode,
    offer: undefined,
    ...(isOther && { ...EMPTY, lastCall, contextUsed, costUsd }),
    ...(state.facts === undefined && { queue: [] }), // `sendWaiting` sends it
  };
}

const SHOWN_JOB_CHARS = 60;

function noticeOfEnd({ id, command, reason, exitCode, startedAt, endedAt }: JobRecord): Entry {
  const how =
    reason === "exited" ? `exit ${exitCode}` : reason === "killed" ? "killed" : "its end is unknown";
  const time = endedAt === undefined ? "" : ` after ${formatDuration(endedAt - startedAt)}`;
  const line = shorten(command.split("\n", 1).join(""), SHOWN_JOB_CHARS);
  return { kind: "notice", text: `job ended: ${line} · ${how}${time} · /jobs ${id}` };
}

function greet({ version, profile, folder, environment }: ChatFacts): Entry[] {
  return [
    { kind: "greeting", parts: [`Hermes ${version}`, `profile ${profile}`, folder, environment, "/help"] },
  ];
}

/** Messages typed before the session was open are sent as one. */
function sendWaiting({ queue, facts }: ChatState): Effect[] {
  return facts === undefined && queue.length > 0 ? [{ type: "send", text: queue.join("\n\n") }] : [];
}

function submit(state: ChatState, { text, startedTypingAt }: Extract<ChatInput, { type: "submit" }>): Update {
  const typed = text.trim();
  const [question] = state.questions;
  const command = parseCommand(typed);
  if (command !== undefined)
    return result(
      state,
      [{ kind: "command", text: withoutValue(command) }],
      [{ type: "command", name: command.name, argument: command.argument }],
    );
  const shell = /^!\s*(\S[\s\S]*)$/.exec(typed)?.[1];
  if (shell !== undefined) return runShell(state, shell);
  if (question !== undefined && typed !== "") {
    const answered = answer(state, question, typed, startedTypingAt);
    if (answered !== undefined) return answered;
  }
  if (typed !== "") return sendTyped(state, unescapeSlash(text));
  if (state.offer !== undefined && state.turn === undefined) return send(state, state.offer);
  // Enter on the empty line: the newest queued message becomes a note to the running turn; without a turn, the queue is sent.
  const [oldest] = state.queue;
  const newest = state.queue.at(-1);
  if (oldest === undefined || newest === undefined || question !== undefined) return result(state);
  return state.turn === undefined
    ? send({ ...state, queue: state.queue.slice(1), isQueueHeld: false }, oldest)
    : steer({ ...state, queue: state.queue.slice(0, -1) }, newest);
}

/** The command as it is printed. The value of a setting is omitted, because it may be a secret. */
function withoutValue({ name, argument }: { readonly name: string; readonly argument: string }): string {
  const shown = name.startsWith("con") ? argument.split(/\s+/)[0] : argument;
  return `/${name} ${shown}`.trim();
}

/** Ends a slash command. If it has changed the session, a message that was typed meanwhile is sent now. */
function endCommand(state: ChatState, text: string): Update {
  const at = state.commands.findIndex((command) => command.text === text);
  const ended = { ...state, commands: state.commands.toSpliced(at, 1) };
  const entries: Entry[] = [{ kind: "command-end" }];
  const [next, ...rest] = ended.queue;
  if (next === undefined || ended.isQueueHeld || !isFree(ended)) return result(ended, entries);
  return result({ ...ended, queue: rest }, entries, [{ type: "send", text: next }]);
}

function isFree({ facts, turn, commands }: ChatState): boolean {
  return facts !== undefined && turn === undefined && !commands.some(({ isExclusive }) => isExclusive);
}

/** Reports where the turn was cut off, and offers a message with which the agent checks its calls and continues. */
function offerToContinue(state: ChatState, calls: readonly PendingCall[]): Update {
  const names = calls.map(({ call, started }, index) => {
    const end = started ? "end unknown" : "not started";
    return `call ${state.lastCall + index + 1}, ${call.tool} ${mainArgument(call.input)}; ${end}`;
  });
  const where = names.length === 0 ? "before its answer was complete" : `in ${names.join("; ")}`;
  return result({ ...state, offer: CONTINUE, cutOff: calls }, [
    { kind: "notice", text: `The last turn was cut off ${where}.` },
    { kind: "notice", text: "Press Enter to let the agent check and continue, or type a message." },
  ]);
}

const CONTINUE =
  "The last turn was cut off because the program ended. Check what became of its calls before you repeat any of them, then continue.";

/** Puts a text back into the input line or, if that is not empty, at the front of the queue, which then waits. */
function giveBack(state: ChatState, text: string, draft: string): Update {
  if (draft === "") return result(state, [], [{ type: "edit", text }]);
  return result({ ...state, queue: [text, ...state.queue], isQueueHeld: true });
}

/** Restores unsent text. None of it is sent automatically, because the user has not seen it in this chat yet. */
function restore(state: ChatState, unsent: Unsent, draft: string): Update {
  const isDraftFree = draft === "";
  const older = [
    ...unsent.queue,
    ...[unsent.stash, isDraftFree ? "" : unsent.draft].filter((text) => text !== ""),
  ];
  const kept = { ...state, queue: [...older, ...state.queue], isQueueHeld: true };
  const edit: Effect[] = isDraftFree && unsent.draft !== "" ? [{ type: "edit", text: unsent.draft }] : [];
  const what = [
    ...(edit.length > 0 ? ["your draft"] : []),
    ...(older.length > 0
      ? [older.length === 1 ? "a queued message" : `${older.length} queued messages`]
      : []),
  ].join(" and ");
  return result(kept, [{ kind: "notice", text: `Restored, not sent: ${what}.` }], edit);
}

function runShell(state: ChatState, command: string): Update {
  if (state.facts !== undefined) return result(state, [], [{ type: "shell", command }]);
  return result(state, [], [{ type: "edit", text: `!${command}` }]); // there is no environment yet
}

/** `//word` sends a message that begins with a slash. */
function unescapeSlash(text: string): string {
  return text.startsWith("//") ? text.slice(1) : text;
}

/** While a turn runs and no question waits, the busy mode determines what happens to a message. */
function sendTyped(state: ChatState, text: string): Update {
  const { turn, busyMode, questions } = state;
  if (turn === undefined || turn.activity === "stopping" || questions.length > 0 || busyMode === "queue")
    return send(state, text);
  if (busyMode === "steer") return steer(state, text);
  return result(
    {
      ...state,
      queue: [text, ...state.queue],
      isInterrupting: true,
      turn: { ...turn, activity: "stopping" },
    },
    [],
    [{ type: "redirect" }],
  );
}

function send(state: ChatState, text: string): Update {
  if (isFree(state)) return result(state, [], [{ type: "send", text }]);
  const waits = state.questions.length > 0 ? [WAITING] : [];
  return result({ ...state, queue: [...state.queue, text] }, waits);
}

const WAITING: Entry = {
  kind: "notice",
  text: "That was queued as a message, because a question waits: answer it with its number.",
};

function steer(state: ChatState, text: string): Update {
  if (state.turn === undefined) return send(state, text);
  return result({ ...state, steers: [...state.steers, text] }, [], [{ type: "steer", text }]);
}

/** The choices of an approval, in the order of their numbers. */
export const CHOICES = ["once", "session", "always", "no", "because"] as const;

function answer(
  state: ChatState,
  question: Question,
  typed: string,
  startedTypingAt: number,
): Update | undefined {
  const { approval, askedAt } = question;
  if (approval.kind === "clarification") {
    if (startedTypingAt < askedAt) return undefined; // started before the question, so meant for something else
    let text: string;
    try {
      text = parseClarification(typed, approval.details);
    } catch (error) {
      if (!(error instanceof AppError)) throw error;
      return result(state, [{ kind: "notice", text: `${error.message} ${error.hint}` }]);
    }
    return result(state, [], [{ type: "answer", approval, choice: { verdict: "answered", text } }]);
  }
  const found = /^([1-5])(?:[ ,:]+(.+))?$/s.exec(typed);
  const choice = CHOICES[Number(found?.[1] ?? 0) - 1];
  if (found === null || choice === undefined) return undefined;
  const reason = found[2]?.trim();
  // Only `5` accepts words after the number.
  if (reason !== undefined && choice !== "because") return undefined;
  const isEarly = startedTypingAt < askedAt + TOO_EARLY_MS;
  if (isEarly && !question.wasTooEarly) {
    const [, ...others] = state.questions;
    return result({ ...state, questions: [{ ...question, wasTooEarly: true }, ...others] }, [
      { kind: "notice", text: `The question had just appeared. Type ${typed} again to answer it.` },
    ]);
  }
  const problem = findProblem(approval, choice, reason);
  if (problem !== undefined) return result(state, [{ kind: "notice", text: problem }]);
  return result(state, [], [{ type: "answer", approval, choice: toChoice(choice, reason) }]);
}

/** Why a choice cannot be the answer to this approval; undefined if it can. */
function findProblem(
  { details }: Approval,
  choice: (typeof CHOICES)[number],
  reason: string | undefined,
): string | undefined {
  if (choice === "session" && details.session === undefined)
    return "This call cannot be allowed for the session. Choose 1 or 4.";
  if (choice === "always" && details.always === undefined)
    return "This call cannot be allowed permanently. Choose 1, 2 or 4.";
  if (choice === "because" && reason === undefined)
    return "Type the reason after the number: 5 use git rm instead";
  return undefined;
}

function toChoice(choice: (typeof CHOICES)[number], text: string | undefined) {
  return choice === "no" || choice === "because"
    ? ({ verdict: "denied", text } as const)
    : ({ verdict: "approved", scope: choice } as const);
}

function pressKey(
  state: ChatState,
  { key, draft }: Extract<ChatInput, { type: "key" }>,
  now: number,
): Update {
  if (key === "leave") return draft === "" ? leave(state, now) : result(state);
  const [question] = state.questions;
  if (key === "stop" && question !== undefined) {
    const { approval } = question;
    const choice =
      approval.kind === "clarification"
        ? ({ verdict: "answered", text: DECIDE_YOURSELF } as const)
        : ({ verdict: "denied" } as const);
    return result(state, [], [{ type: "answer", approval, choice }]);
  }
  if (key === "interrupt" && draft !== "")
    return result({ ...state, leavesUntil: 0 }, [], [{ type: "clear-draft" }]);
  if (key === "stop" && draft !== "" && state.turn === undefined) return clearDraft(state, now);
  if (state.turn !== undefined && state.turn.activity !== "stopping") {
    const stopping = { ...state, turn: { ...state.turn, activity: "stopping" as const }, isQueueHeld: true };
    return result(
      { ...stopping, leavesUntil: key === "interrupt" ? now + LEAVE_MS : 0 },
      [],
      [{ type: "stop" }],
    );
  }
  if (state.commands.length > 0) return result(state, [], [{ type: "stop-commands" }]);
  return key === "interrupt" ? leave(state, now) : result(state);
}

/** Clearing the draft takes a second Esc, because the first may have been meant for a list that has just closed. */
function clearDraft(state: ChatState, now: number): Update {
  if (now < state.clearsUntil)
    return result({ ...state, clearsUntil: 0, hint: undefined }, [], [{ type: "clear-draft" }]);
  const until = now + LEAVE_MS;
  return result({ ...state, clearsUntil: until, hint: { text: "again to clear the draft", until } });
}

/** Leaving takes a second key, because Ctrl-C and Ctrl-D are easily pressed once too often. */
function leave(state: ChatState, now: number): Update {
  if (now < state.leavesUntil) return result({ ...state, isLeaving: true }, [], [{ type: "leave" }]);
  const text = state.turn === undefined ? "again to leave" : "again to leave; the turn is stopped";
  return result({ ...state, leavesUntil: now + LEAVE_MS, hint: { text, until: now + LEAVE_MS } });
}
