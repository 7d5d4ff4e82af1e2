import fc from "fast-check";
import { createColors } from "picocolors";
import { expect, test } from "vitest";
import { createKeyBindings } from "../input/key-bindings.ts";
import { styledWidth } from "../screen/styled-width.ts";
import { type ChatState, INITIAL_STATE } from "../state/chat-state.ts";
import { draw } from "./draw.ts";
import { firstLiveArea } from "./first-frame.ts";

const plain = createColors(false);

const BUSY: ChatState = {
  ...INITIAL_STATE,
  facts: {
    version: "1",
    profile: "default",
    folder: "~/src/shop",
    environment: "docker",
    model: "claude-sonnet-4-5",
    contextTokens: 200_000,
    sessionId: "s1",
  },
  mode: "YOLO",
  turn: { startedAt: 0, activity: "calling", activeAt: 0 },
  calls: [1, 2, 3].map((number) => ({
    callId: `c${number}`,
    number,
    tool: "terminal",
    argument: "npm run build && npm test -- --everything",
    startedAt: 0,
    progress: "[7/9] bundling",
  })),
  queue: ["one", "two", "three", "four"],
  steers: ["use vitest"],
};

function drawAt(columns: number, rows: number, state = BUSY, now = 12_000, isQuestionBuried = false) {
  const tail = Array.from({ length: 20 }, (_, index) => `row ${index}`);
  const view = { rows: ["typed text"], caret: { row: 0, column: 5 } };
  const input = { ...view, completion: undefined, stash: undefined, history: undefined };
  const keys = createKeyBindings();
  const request = { state, tail, input, keys, size: { columns, rows }, now };
  return draw({ ...request, isQuestionBuried }, plain);
}

test("C2, C10: at any size the live area leaves a row free, and shows input and mode", () => {
  fc.assert(
    fc.property(fc.integer({ min: 20, max: 200 }), fc.integer({ min: 6, max: 60 }), (columns, rows) => {
      const { rows: shown, caret } = drawAt(columns, rows);
      expect(shown.length).toBeLessThanOrEqual(Math.min(rows - 1, 18));
      expect(shown.at(-1)).toContain("YOLO");
      expect(shown[caret.row]).toContain("typed text");
      expect(caret.column).toBe(7);
    }),
  );
});

const asking: ChatState = {
  ...BUSY,
  questions: [1, 2, 3].map((number) => ({
    approval: {
      id: `a_${number}`,
      sessionId: "s1",
      kind: "approval",
      callId: `c${number}`,
      tool: "terminal",
      hash: "",
      summary: "rm -rf build",
      reason: "It removes build.",
      rule: undefined,
      details: {
        session: { rule: "class:x", words: "rm -r" },
        always: { rule: "exact:x", words: "exactly `rm -rf build`" },
      },
      state: "waiting",
      scope: undefined,
      answer: undefined,
      answeredBy: undefined,
      askedAt: 0,
      endsAt: 300_000,
      answeredAt: undefined,
      holder: undefined,
    },
    number,
    askedAt: 0,
    wasTooEarly: false,
  })),
};

test("in a narrow window the queued message is shown without the hint about its keys", () => {
  const state = { ...BUSY, calls: [], steers: [], queue: ["update the changelog"] };
  for (const [columns, shown] of [
    [20, "queued 1: update"],
    [52, "queued 1: update the changelog"],
    [100, "queued 1: update the changelog · Enter steers it · ↑ takes it back"],
  ] as const)
    expect(drawAt(columns, 12, state).rows.join("\n")).toContain(shown);
});

test("the queue shows no hint about Enter while a question waits or the session is being opened, because Enter then does nothing", () => {
  expect(drawAt(80, 24, { ...BUSY, calls: [] }).rows.join("\n")).toContain("Enter steers it");
  const opening = { ...BUSY, facts: undefined, turn: undefined, calls: [] };
  expect(drawAt(80, 24, opening).rows.join("\n")).not.toContain("Enter sends it");
  for (const isQueueHeld of [true, false])
    expect(drawAt(80, 40, { ...asking, calls: [], isQueueHeld }).rows.join("\n")).not.toMatch(
      /Enter (sends|steers)/,
    );
});

test("C38: output, calls, queued messages and the size never move or hide the question; several are counted", () => {
  const quiet = drawAt(80, 24, { ...asking, calls: [], queue: [], steers: [] }).rows.slice(-5, -1);
  expect(quiet).toEqual([
    "  1 once · 2 this session: rm -r · 3 always: exactly `rm -rf build` · 4 no",
    "  5 no, because …",
    "  1 of 3 · number, Enter · Tab: draft aside · Esc or silence for 4:48 means no",
    "❯ typed text",
  ]);
  fc.assert(
    fc.property(fc.integer({ min: 6, max: 60 }), fc.integer({ min: 0, max: 9 }), (rows, calls) => {
      const many = Array.from({ length: calls }, (_, at) => ({ ...BUSY.calls[0], callId: `${at}` }));
      const shown = drawAt(80, rows, { ...asking, calls: many } as ChatState).rows;
      expect(shown.slice(-5, -1)).toEqual(drawAt(80, 24, asking).rows.slice(-5, -1));
    }),
  );
});

test("C38: the title of a question that output has moved up is repeated above its choices", () => {
  const rows = drawAt(80, 24, asking, 12_000, true).rows;
  expect(rows.at(-6)).toBe("? 1 terminal rm -rf build");
  expect(drawAt(80, 6, asking, 12_000, true).rows).toHaveLength(5);
  expect(drawAt(80, 6, asking, 12_000, true).rows.at(-3)).toContain("means no");
});

test("C37: what the answers 2 and 3 would cover is shown", () => {
  const words = "everything that a rule with a long name asks about, in this folder and in those below it";
  const [first, ...others] = asking.questions;
  if (first === undefined) throw new Error("the state has no question");
  const details = { ...first.approval.details, session: { rule: "class:x", words } };
  const questions = [{ ...first, approval: { ...first.approval, details } }, ...others];
  for (const columns of [40, 80, 200]) {
    const shown = drawAt(columns, 24, { ...asking, questions })
      .rows.join(" ")
      .replace(/\s+/g, " ");
    expect(shown).toContain(`2 this session: ${words}`);
    expect(shown).toContain("3 always: exactly `rm -rf build`");
  }
});

test("a slow slash command is shown with its seconds and the key that stops it", () => {
  const slow = { text: "/compress", startedAt: 9_000, isExclusive: true };
  const idle = { ...BUSY, turn: undefined, calls: [], queue: [], steers: [] };
  const shown = (now: number) => drawAt(80, 24, { ...idle, commands: [slow] }, now).rows.join("\n");
  expect(shown(12_000)).toContain("/compress · 3 s · Esc stops");
  expect(shown(9_100)).not.toContain("/compress");
});

test("C2: unfinished text takes at most six rows", () => {
  const idle = { ...BUSY, calls: [], queue: [], steers: [], turn: undefined };
  expect(drawAt(80, 60, idle).rows.filter((row) => row.startsWith("row "))).toHaveLength(6);
});

test("the status line shows less in a narrow window, and the mode at every width", () => {
  const status = (columns: number): string => drawAt(columns, 24).rows.at(-1) ?? "";
  expect(status(90)).toBe("claude-sonnet-4-5 · 0/200k · $0.00 · docker · YOLO · 4 queued");
  expect(status(60)).toBe("claude-sonnet-4-5 · docker · YOLO · 4 queued");
  expect(status(40)).toBe("claude-sonnet-4-5 · YOLO");
  expect(status(25)).toBe("YOLO");
});

test("the status line shows the configured fields in their order, and YOLO even if the mode is not one of them", () => {
  const status = (columns: number, change: Partial<ChatState>): string =>
    drawAt(columns, 24, { ...BUSY, queue: [], ...change }).rows.at(-1) ?? "";
  expect(status(90, { mode: "asks", jobs: 2 })).toBe(
    "claude-sonnet-4-5 · 0/200k · $0.00 · docker · asks · 2 jobs · Enter queues",
  );
  expect(status(60, { jobs: 1 })).toBe("claude-sonnet-4-5 · docker · YOLO · 1 job · Enter queues");
  expect(status(90, { statusFields: ["cost", "model"], mode: "asks" })).toBe("$0.00 · claude-sonnet-4-5");
  expect(status(90, { statusFields: ["cost"] })).toBe("$0.00 · YOLO");
  expect(status(40, { statusFields: [] })).toBe("YOLO");
  const facts = BUSY.facts && { ...BUSY.facts, model: "a-model-with-a-name-that-nobody-can-remember" };
  for (let columns = 20; columns < 90; columns++)
    expect(status(columns, { facts, jobs: 3 })).toContain("YOLO");
});

test("C17: the first frame is the same as the drawn initial state", () => {
  for (const columns of [20, 30, 31, 40, 80]) {
    for (const colours of [plain, createColors(true)]) {
      const keys = createKeyBindings();
      const input = { rows: [""], caret: { row: 0, column: 0 }, completion: undefined, stash: undefined };
      const request = {
        state: INITIAL_STATE,
        tail: [],
        input: { ...input, history: undefined },
        keys,
        now: 0,
      };
      const drawn = draw({ ...request, size: { columns, rows: 24 }, isQuestionBuried: true }, colours);
      expect(firstLiveArea(columns, colours)).toEqual(drawn);
    }
  }
});

test("a steer says `seen after this call` only while a call runs", () => {
  expect(drawAt(80, 24).rows.join("\n")).toContain("steer, seen after this call: use vitest");
  expect(drawAt(80, 24, { ...BUSY, calls: [] }).rows.join("\n")).toContain(
    "steer, seen at the next step: use vitest",
  );
});

test("C27: a call shows its seconds, a long one the key that stops it, a silent one how long it has been silent", () => {
  const rows = (now: number): string[] => drawAt(80, 24, BUSY, now).rows as string[];
  const newest = (now: number) => rows(now).find((row) => row.includes(" 3 terminal"));
  expect(newest(12_000)).toMatch(/12 s$/);
  expect(newest(30_000)).toMatch(/30 s · Esc stops$/);
  expect(rows(30_000).filter((row) => row.includes("Esc stops"))).toHaveLength(1);
  expect(rows(150_000).join("\n")).toContain("working · 150 s · Esc stops · silent for 2 m 30 s");
  expect(drawAt(40, 12, BUSY, 150_000).rows.join("\n")).toContain("working · 150 s · Esc stops");
  // While a question waits, the key denies it.
  const stops = drawAt(80, 24, { ...asking, queue: [] }, 30_000).rows.filter((row) =>
    row.includes("Esc stops"),
  );
  expect(stops).toEqual([]);
  expect(drawAt(40, 12, { ...BUSY, queue: [], steers: [] }, 30_000).rows.join("\n")).toMatch(
    /npm.*30 s · Esc stops/,
  );
});

test("C6: no row has trailing spaces", () => {
  for (const row of drawAt(80, 24).rows) {
    expect(row).toBe(row.trimEnd());
    expect(styledWidth(row)).toBeLessThanOrEqual(79);
  }
});

test("without motion, a row that only counts seconds changes once a second", () => {
  const still = { ...BUSY, hasMotion: false };
  expect(drawAt(80, 24, still, 12_000)).toEqual(drawAt(80, 24, still, 12_400));
  expect(drawAt(80, 24, BUSY, 12_000)).not.toEqual(drawAt(80, 24, BUSY, 12_400));
});
