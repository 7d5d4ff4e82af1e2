import { expect, test } from "vitest";
import type { AgentEvent } from "../../../agent/events.ts";
import type { Approval } from "../../../approvals/approval.ts";
import type { JobRecord } from "../../../environments/jobs/job.ts";
import { NO_USAGE } from "../../../providers/provider.ts";
import { type ChatFacts, type ChatState, type Effect, INITIAL_STATE } from "./chat-state.ts";
import type { Entry } from "./entry.ts";
import { type ChatInput, update } from "./update.ts";
import { updateByEvent } from "./update-by-event.ts";

const FACTS: ChatFacts = {
  version: "1",
  profile: "default",
  folder: "~/shop",
  environment: "local",
  model: "m",
  contextTokens: 200_000,
  sessionId: "s1",
};

/** A chat without a terminal, which applies inputs and records entries and effects. */
function openChat() {
  let state: ChatState = INITIAL_STATE;
  let now = 1_000_000;
  const entries: Entry[] = [];
  const effects: Effect[] = [];
  const apply = (next: { state: ChatState; entries: readonly Entry[]; effects: readonly Effect[] }): void => {
    state = next.state;
    entries.push(...next.entries);
    effects.push(...next.effects);
  };
  const chat = {
    entries,
    state: () => state,
    wait(ms: number) {
      now += ms;
    },
    input: (input: ChatInput) => apply(update(state, input, now)),
    event: (event: AgentEvent) => apply(updateByEvent(state, event, now)),
    type(text: string, startedTypingAt = now) {
      chat.input({ type: "submit", text, startedTypingAt });
    },
    /** The effects since the last call. */
    done: () => effects.splice(0),
  };
  return chat;
}

function openIdle() {
  const chat = openChat();
  chat.input({ type: "opened", facts: FACTS, mode: "asks", lastCall: 0, contextUsed: 0, costUsd: undefined });
  return chat;
}

function openWorking() {
  const chat = openIdle();
  chat.event({
    type: "turn-start",
    turnId: "t",
    message: { role: "user", parts: [{ type: "text", text: "go" }] },
  });
  chat.done();
  return chat;
}

const end = (outcome: "completed" | "stopped" | "failed" = "completed"): AgentEvent => ({
  type: "turn-end",
  turnId: "t",
  outcome,
  text: "",
  reason: outcome === "failed" ? "The server refused." : undefined,
  hint: "Try another model.",
  requests: 1,
  usage: NO_USAGE,
  costUsd: undefined,
});

const APPROVAL: Approval = {
  id: "a_1",
  sessionId: "s1",
  kind: "approval",
  callId: "c1",
  tool: "terminal",
  hash: "",
  summary: "rm -rf build",
  reason: "It removes build.",
  rule: undefined,
  details: { session: { rule: "class:x", words: "rm -r" } },
  state: "waiting",
  scope: undefined,
  answer: undefined,
  answeredBy: undefined,
  askedAt: 0,
  endsAt: undefined,
  answeredAt: undefined,
  holder: undefined,
};

function openAsking() {
  const chat = openWorking();
  chat.event({ type: "approval-asked", approval: APPROVAL });
  return chat;
}

test("the end of a job is reported with its command, exit code and duration, and running jobs are counted", () => {
  const chat = openIdle();
  const job: JobRecord = {
    id: "proc_1",
    environmentKey: "e",
    owner: "s1",
    command: "npm run dev\nsecond line",
    cwd: undefined,
    lifetime: "session",
    expiresAt: undefined,
    input: "none",
    notify: false,
    notified: false,
    state: "ended",
    reason: "exited",
    exitCode: 1,
    ranOutOfMemory: false,
    startedAt: 1_000,
    endedAt: 124_000,
    killRequested: false,
    folder: undefined,
    process: undefined,
    watch: undefined,
  };
  chat.input({ type: "jobs", running: 2, ended: [] });
  expect(chat.state().jobs).toBe(2);
  chat.input({ type: "jobs", running: 0, ended: [job, { ...job, reason: "killed" }] });
  expect(chat.state().jobs).toBe(0);
  expect(chat.entries.slice(-2)).toEqual([
    { kind: "notice", text: "job ended: npm run dev · exit 1 after 2 m 3 s · /jobs proc_1" },
    { kind: "notice", text: "job ended: npm run dev · killed after 2 m 3 s · /jobs proc_1" },
  ]);
});

test("C17: a message typed before the session is open is sent once it is open", () => {
  const chat = openChat();
  chat.type("hello");
  expect(chat.done()).toEqual([]);
  chat.input({ type: "opened", facts: FACTS, mode: "asks", lastCall: 0, contextUsed: 0, costUsd: undefined });
  expect(chat.done()).toEqual([{ type: "send", text: "hello" }]);
  expect(chat.state().queue).toEqual([]);
});

test("C29: a message during a turn is queued and sent after it; the rest of the queue follows turn by turn", () => {
  const chat = openWorking();
  chat.type("first");
  chat.type("second");
  expect(chat.done()).toEqual([]);
  chat.event(end());
  expect(chat.done()).toEqual([{ type: "send", text: "first" }]);
  expect(chat.state().queue).toEqual(["second"]);
});

test("C29: Enter on the empty line turns the newest queued message into a steer; one that the model has not seen is sent first", () => {
  const chat = openWorking();
  chat.type("later");
  chat.type("use vitest");
  chat.type("");
  expect(chat.done()).toEqual([{ type: "steer", text: "use vitest" }]);
  expect(chat.state().steers).toEqual(["use vitest"]);
  chat.event(end());
  expect(chat.done()).toEqual([{ type: "send", text: "use vitest" }]);
  expect(chat.state().queue).toEqual(["later"]);
});

test("C29: after a stop the queue waits, and Enter sends it, the oldest message first", () => {
  const chat = openWorking();
  chat.type("next");
  chat.type("last");
  chat.input({ type: "key", key: "stop", draft: "" });
  expect(chat.done()).toEqual([{ type: "stop" }]);
  chat.event(end("stopped"));
  expect(chat.done()).toEqual([]);
  expect(chat.state().queue).toEqual(["next", "last"]);
  chat.type("");
  expect(chat.done()).toEqual([{ type: "send", text: "next" }]);
  expect(chat.state().queue).toEqual(["last"]);
});

test("a queued message can be taken back into the input line", () => {
  const chat = openWorking();
  chat.type("oops");
  chat.input({ type: "take-back" });
  expect(chat.done()).toEqual([{ type: "edit", text: "oops" }]);
  expect(chat.state().queue).toEqual([]);
});

test("C22: Ctrl-C does one thing at a time: it clears the draft, stops the turn, and leaves only when pressed twice", () => {
  const chat = openWorking();
  chat.input({ type: "key", key: "interrupt", draft: "text" });
  expect(chat.done()).toEqual([{ type: "clear-draft" }]);
  chat.input({ type: "key", key: "interrupt", draft: "" });
  expect(chat.done()).toEqual([{ type: "stop" }]);
  chat.event(end("stopped"));
  chat.wait(3_000);
  chat.input({ type: "key", key: "interrupt", draft: "" });
  expect(chat.done()).toEqual([]);
  chat.wait(3_000);
  chat.input({ type: "key", key: "interrupt", draft: "" });
  expect(chat.done()).toEqual([]);
  chat.wait(1_000);
  chat.input({ type: "key", key: "interrupt", draft: "" });
  expect(chat.done()).toEqual([{ type: "leave" }]);
});

test("C22: Esc clears a draft only when pressed twice, and never while it stops a turn", () => {
  const chat = openIdle();
  chat.input({ type: "key", key: "stop", draft: "text" });
  expect(chat.done()).toEqual([]);
  expect(chat.state().hint?.text).toBe("again to clear the draft");
  chat.input({ type: "key", key: "stop", draft: "text" });
  expect(chat.done()).toEqual([{ type: "clear-draft" }]);
  const working = openWorking();
  working.input({ type: "key", key: "stop", draft: "text" });
  working.input({ type: "key", key: "stop", draft: "text" });
  expect(working.done()).toEqual([{ type: "stop" }]);
});

test("C29: depending on the busy mode, a message during a turn steers it, or stops it and is sent first", () => {
  const steering = openWorking();
  steering.input({ type: "busy-mode", mode: "steer" });
  steering.type("use vitest");
  expect(steering.done()).toEqual([{ type: "steer", text: "use vitest" }]);
  const stopping = openWorking();
  stopping.type("later");
  stopping.input({ type: "busy-mode", mode: "interrupt" });
  stopping.type("now");
  expect(stopping.done()).toEqual([{ type: "redirect" }]);
  stopping.event(end("stopped"));
  expect(stopping.done()).toEqual([{ type: "send", text: "now" }]);
  expect(stopping.state().queue).toEqual(["later"]);
});

test("C31: in every busy mode, and while a question waits, a command is run and not sent", () => {
  for (const mode of ["queue", "steer", "interrupt"] as const)
    for (const chat of [openWorking(), openAsking()]) {
      chat.input({ type: "busy-mode", mode });
      chat.done();
      chat.type("/steer");
      expect(chat.done()).toEqual([{ type: "command", name: "steer", argument: "" }]);
    }
});

test("C31: a command is never sent to the model, even during a turn; a path and a doubled slash are text", () => {
  for (const chat of [openIdle(), openWorking(), openAsking()]) {
    chat.type("/Stop now");
    chat.type("/nosuch");
    chat.type("/");
    expect(chat.done()).toEqual([
      { type: "command", name: "stop", argument: "now" },
      { type: "command", name: "nosuch", argument: "" },
      { type: "command", name: "help", argument: "" },
    ]);
    expect(chat.state().queue).toEqual([]);
  }
  const chat = openIdle();
  chat.type("/etc/hosts is wrong");
  chat.type("//help is a command");
  expect(chat.done().map((effect) => "text" in effect && effect.text)).toEqual([
    "/etc/hosts is wrong",
    "/help is a command",
  ]);
});

test("C36, agent M3: text that is not a number stays a message, and says that a question waits", () => {
  const chat = openAsking();
  chat.wait(5_000);
  for (const text of ["yes 1 p", "yes", "12", "1 and more", ""]) chat.type(text);
  expect(chat.done()).toEqual([]);
  expect(chat.state().queue).toEqual(["yes 1 p", "yes", "12", "1 and more"]);
  expect(chat.entries.at(-1)).toMatchObject({
    kind: "notice",
    text: expect.stringContaining("question waits"),
  });
});

test("C36: a number whose typing started before the question, or in its first second, needs to be typed again", () => {
  const chat = openAsking();
  chat.wait(500);
  chat.type("1");
  expect(chat.done()).toEqual([]);
  chat.wait(2_000);
  chat.type("1");
  expect(chat.done()).toEqual([
    { type: "answer", approval: APPROVAL, choice: { verdict: "approved", scope: "once" } },
  ]);
  for (const startedTypingAt of [999_000, 1_000_500]) {
    const early = openAsking();
    early.wait(5_000);
    early.type("4", startedTypingAt);
    expect(early.done()).toEqual([]);
  }
});

test.each([
  ["1", { verdict: "approved", scope: "once" }],
  ["2", { verdict: "approved", scope: "session" }],
  ["4", { verdict: "denied", text: undefined }],
  ["5 use git rm", { verdict: "denied", text: "use git rm" }],
])("the answer %j to an approval becomes the choice with that number", (typed, choice) => {
  const chat = openAsking();
  chat.wait(5_000);
  chat.type(typed);
  expect(chat.done()).toEqual([{ type: "answer", approval: APPROVAL, choice }]);
});

test("a choice that the approval does not offer is explained and does not answer it", () => {
  const chat = openAsking();
  chat.wait(5_000);
  chat.type("3");
  chat.type("5");
  expect(chat.done()).toEqual([]);
  expect(chat.state().questions).toHaveLength(1);
});

test("C28: calls are numbered through the session and named by their main argument", () => {
  const chat = openWorking();
  const call = { type: "tool-call", callId: "c1", tool: "read_file", input: '{"path":"a.ts"}' } as const;
  chat.event({ type: "tools-start", calls: [call] });
  expect(chat.state().calls).toMatchObject([{ number: 1, argument: "a.ts" }]);
  chat.event({
    type: "tool-end",
    callId: "c1",
    tool: "read_file",
    outcome: "ok",
    text: "x\ny",
    durationMs: 3,
  });
  expect(chat.entries.at(-1)).toMatchObject({
    kind: "call",
    call: { number: 1, argument: "a.ts", summary: "2 lines" },
  });
  expect(chat.state()).toMatchObject({ calls: [], lastCall: 1 });
});

test("C32: after a failed attempt one line says that the unfinished text is to be ignored", () => {
  const chat = openWorking();
  chat.event({ type: "text-delta", text: "half an ans" });
  chat.event({
    type: "attempt-failed",
    failure: { kind: "cut", message: "The connection was lost.", hint: "", isRetryable: true } as never,
    retryInMs: 1_000,
  });
  expect(chat.entries.at(-1)).toMatchObject({
    kind: "notice",
    text: expect.stringContaining("Ignore the unfinished text above"),
  });
});

test("the end of a failed turn says why and what to do", () => {
  const chat = openWorking();
  chat.event(end("failed"));
  expect(chat.entries).toContainEqual({
    kind: "error",
    text: "The server refused.",
    hint: "Try another model.",
  });
  expect(chat.state().turn).toBeUndefined();
});

const CLARIFICATION: Approval = {
  ...APPROVAL,
  kind: "clarification",
  tool: "clarify",
  summary: "Which database?",
  details: { choices: ["SQLite", "PostgreSQL"] },
};

test.each([
  ["2", "PostgreSQL"],
  ["both of them", "both of them"],
])("a clarification is answered with %j", (typed, text) => {
  const chat = openWorking();
  chat.event({ type: "approval-asked", approval: CLARIFICATION });
  chat.wait(2_000);
  chat.type(typed);
  expect(chat.done()).toEqual([
    { type: "answer", approval: CLARIFICATION, choice: { verdict: "answered", text } },
  ]);
});

test("C36: text whose typing started before a clarification stays a message", () => {
  const chat = openWorking();
  chat.event({ type: "approval-asked", approval: CLARIFICATION });
  chat.wait(2_000);
  chat.type("also update the changelog", 999_000);
  expect(chat.done()).toEqual([]);
  expect(chat.state().queue).toEqual(["also update the changelog"]);
});

test("a number that is not a choice of a clarification does not answer it", () => {
  const chat = openWorking();
  chat.event({ type: "approval-asked", approval: CLARIFICATION });
  chat.wait(2_000);
  chat.type("9");
  expect(chat.done()).toEqual([]);
  expect(chat.entries.at(-1)).toMatchObject({ kind: "notice", text: expect.stringContaining("1 to 2") });
});

test("C39: Esc means no for an approval, and leaves a clarification to the agent", () => {
  const chat = openAsking();
  chat.input({ type: "key", key: "stop", draft: "" });
  expect(chat.done()).toEqual([{ type: "answer", approval: APPROVAL, choice: { verdict: "denied" } }]);
  const other = openWorking();
  other.event({ type: "approval-asked", approval: CLARIFICATION });
  other.input({ type: "key", key: "stop", draft: "" });
  expect(other.done()).toMatchObject([{ type: "answer", choice: { verdict: "answered" } }]);
});

test("C43: a turn that was cut off is named, and only Enter on the empty line lets the agent continue", () => {
  const chat = openIdle();
  const call = {
    type: "tool-call",
    callId: "c1",
    tool: "terminal",
    input: '{"command":"npm publish"}',
  } as const;
  chat.input({ type: "cut-off", calls: [{ call, started: true }] });
  expect(chat.entries).toContainEqual({
    kind: "notice",
    text: "The last turn was cut off in call 1, terminal npm publish; end unknown.",
  });
  expect(chat.done()).toEqual([]);
  chat.type("");
  expect(chat.done()).toMatchObject([{ type: "send", text: expect.stringContaining("cut off") }]);
});

test("C43: sending another message withdraws the offer to continue", () => {
  const chat = openIdle();
  chat.input({ type: "cut-off", calls: [] });
  chat.type("something else");
  chat.event({
    type: "turn-start",
    turnId: "t",
    message: { role: "user", parts: [{ type: "text", text: "something else" }] },
  });
  chat.event(end());
  chat.done();
  chat.type("");
  expect(chat.done()).toEqual([]);
});

function write(chat: ReturnType<typeof openWorking>, callId: string, path: string, outcome: "ok" | "failed") {
  const input = JSON.stringify({ path });
  chat.event({ type: "tools-start", calls: [{ type: "tool-call", callId, tool: "write_file", input }] });
  chat.event({ type: "tool-end", callId, tool: "write_file", outcome, text: "", durationMs: 1 });
}

test("C34: the end of a turn lists the files whose write failed and was not repaired", () => {
  const chat = openWorking();
  write(chat, "c1", "a.ts", "failed");
  write(chat, "c2", "b.ts", "failed");
  write(chat, "c3", "a.ts", "ok");
  chat.event(end());
  expect(chat.entries).toContainEqual({
    kind: "notice",
    text: "Perhaps not written, because the call did not succeed: b.ts",
  });
  const other = openWorking();
  write(other, "c1", "a.ts", "ok");
  other.event(end());
  expect(other.entries.filter(({ kind }) => kind === "notice")).toEqual([]);
});

test("C35: reasoning is printed only if the setting is on, and never inside an answer", () => {
  const chat = openWorking();
  chat.event({ type: "reasoning-delta", text: "Hm." });
  expect(chat.state().turn?.activity).toBe("thinking");
  expect(chat.entries).not.toContainEqual({ kind: "reasoning", text: "Hm." });
  chat.input({ type: "display", showsReasoning: true, hasMotion: true, statusFields: [] });
  chat.event({ type: "reasoning-delta", text: "First." });
  chat.event({ type: "text-delta", text: "An answer " });
  chat.event({ type: "reasoning-delta", text: "Between." });
  chat.event({ type: "text-delta", text: "in two parts." });
  expect(chat.entries.slice(-3)).toEqual([
    { kind: "reasoning", text: "First." },
    { kind: "text", text: "An answer " },
    { kind: "text", text: "in two parts." },
  ]);
});

test("a message typed while a command changes the session is sent once the command has ended", () => {
  const chat = openIdle();
  chat.input({ type: "command-start", text: "/compress", isExclusive: true });
  chat.type("go on");
  expect(chat.done()).toEqual([]);
  chat.input({ type: "command-end", text: "/compress" });
  expect(chat.done()).toEqual([{ type: "send", text: "go on" }]);
  chat.input({ type: "command-start", text: "/logs", isExclusive: false });
  chat.type("now");
  expect(chat.done()).toEqual([{ type: "send", text: "now" }]);
});

test("C22: Esc and Ctrl-C stop a running slash command and do not leave", () => {
  const chat = openIdle();
  chat.input({ type: "command-start", text: "/compress", isExclusive: true });
  for (const key of ["stop", "interrupt"] as const) {
    chat.input({ type: "key", key, draft: "" });
    expect(chat.done()).toEqual([{ type: "stop-commands" }]);
  }
});

test("a command is printed as it was typed, without the value of a setting", () => {
  const chat = openIdle();
  chat.type("/why 4");
  chat.type("/config model.api_key sk-secret");
  expect(chat.entries.slice(-2)).toEqual([
    { kind: "command", text: "/why 4" },
    { kind: "command", text: "/config model.api_key" },
  ]);
});
