import { inflected, money, number, roundMoney } from "../format.ts";
import { spoken } from "./spoken.ts";

/** A sentence in pieces, so that the page can colour some of them. */
export type Sentence = readonly { readonly text: string; readonly tone?: "live" | "needs" }[];

interface Counts {
  readonly running: number;
  readonly needs: number;
  readonly doneToday: number;
}

/** "Three tasks are running, two things need you, and eleven were done today." */
function sentence({ running, needs, doneToday }: Counts): Sentence {
  if (running + needs + doneToday === 0) return [{ text: "Nothing is running and nothing needs you." }];
  const parts: Sentence[number][] = [];
  if (running > 0)
    parts.push({
      text: `${spoken(running)} ${inflected(running, "task is", "tasks are")} running`,
      tone: "live",
    });
  else parts.push({ text: "nothing is running" });
  if (needs > 0)
    parts.push({
      text: `${spoken(needs)} ${inflected(needs, "thing needs", "things need")} you`,
      tone: "needs",
    });
  else if (doneToday === 0) parts.push({ text: "nothing needs you" });
  if (doneToday > 0)
    parts.push({ text: `${spoken(doneToday)} ${inflected(doneToday, "was", "were")} done today` });
  return parts.flatMap((part, index) => {
    const isLast = index === parts.length - 1;
    const before = index === 0 ? "" : isLast ? (parts.length > 2 ? ", and " : " and ") : ", ";
    const text = index === 0 ? part.text[0]?.toUpperCase() + part.text.slice(1) : part.text;
    return [
      ...(before === "" ? [] : [{ text: before }]),
      { ...part, text },
      ...(isLast ? [{ text: "." }] : []),
    ];
  });
}

/** The Overview. */
export const overviewWords = {
  sentence,
  spentToday: (usd: number, cap: number | null) =>
    cap === null ? `${money(usd)} spent today` : `${money(usd)} of ${roundMoney(cap)} spent today`,
  ready: (count: number) => `${count} ready to start`,
  lastPassBefore: "last pass",
  lastPassAfter: "ago",
  noDispatcher: "no dispatcher",
  needs: {
    title: "Needs you",
    none: "Nothing needs you.",
    asks: (who: string) => `${who} asks`,
    failed: (count: number) => (count === 2 ? "failed twice" : `failed ${count} times`),
    undispatched: (count: number) =>
      `${number(count)} ${inflected(count, "task is", "tasks are")} ready, but no dispatcher is running.`,
    retried: (at: string) => `It is retried at ${at}.`,
    answer: "Answer",
    answerLabel: (title: string) => `Answer to ${title}`,
    answerHint: (who: string) => `${who} continues with it at once.`,
    send: "Send",
    sent: (who: string) => `Answered; ${who} continues.`,
    open: "Open",
    retry: "Try again",
    willRetry: "The next dispatcher pass starts it again.",
    resume: "Resume",
    approveTask: "Approve",
    changes: "Request changes",
    changesLabel: (title: string) => `What should change in ${title}`,
    allowOnce: "Allow once",
    allowSession: "Allow in this session",
    allowAlways: "Always allow",
    deny: "Deny",
    decided: "Answered.",
    worker: "the worker",
    own: "In your own words",
  },
  running: {
    title: "Running",
    places: (count: number, places: number | null) =>
      places === null ? `${count}` : `${count} of ${places} slots`,
    none: "Nothing is running.",
    all: "Board",
    unassigned: "unassigned",
  },
  lately: { title: "Recent activity", none: "Nothing has happened yet." },
  spending: {
    title: "Spending",
    days: (count: number) => `${count} days`,
    today: "today",
    cap: (usd: number) => `cap ${roundMoney(usd)}`,
    cache: (share: number) => `${Math.round(share * 100)} % from cache`,
    none: "No spending in these days.",
    label: (days: number, today: number, cap: number | null) =>
      `Spending of the last ${days} days; today ${money(today)}${cap === null ? "" : ` of a limit of ${roundMoney(cap)}`}.`,
    unpriced: (count: number) => `${count} ${inflected(count, "answer has", "answers have")} no known price.`,
  },
  sandboxes: {
    title: "Sandboxes",
    inUse: (count: number) => `${count} in use`,
    now: "in use",
    idle: (ago: string) => `idle for ${ago}`,
    drifted: "settings have changed",
    none: "No sandboxes.",
  },
  dispatcher: {
    title: "Dispatcher",
    none: "No dispatcher is running, so no tasks start.",
    command: "hermes kanban daemon",
    host: "Host",
    alive: (alive: number, all: number) => `${alive} of ${all} running`,
    running: "Running",
    onHost: (count: number, places: number | null) =>
      places === null ? `${count}` : `${count} of ${places}`,
    lastPass: "Last pass",
    board: "Boards",
    gone: "not running",
    error: "Last error",
  },
  steps: {
    model: { text: "Choose a model and set its key", command: "hermes setup" },
    profile: { text: "Create a profile that works on tasks", command: "hermes profile create coder" },
    task: { text: "Create a task", command: 'hermes kanban create "Fix the login" --assignee coder' },
    done: "done",
  },
  failedPart: (part: string, message: string) => `${part}: ${message}`,
};
