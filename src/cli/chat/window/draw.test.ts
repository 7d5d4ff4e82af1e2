import fc from "fast-check";
import { createColors } from "picocolors";
import { expect, test } from "vitest";
import { createKeyBindings } from "../input/key-bindings.ts";
import { styledWidth } from "../screen/styled-width.ts";
import { type ChatState, INITIAL_STATE } from "../state/chat-state.ts";
import { draw } from "./draw.ts";

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

function drawAt(columns: number, rows: number, state = BUSY, now = 12_000) {
  const tail = Array.from({ length: 20 }, (_, index) => `row ${index}`);
  const view = { rows: ["typed text"], caret: { row: 0, column: 5 } };
  const input = { ...view, completion: undefined, stash: undefined, history: undefined };
  const keys = createKeyBindings();
  return draw({ state, tail, input, keys, size: { columns, rows }, now }, plain);
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

test("C2: unfinished text takes at most six rows", () => {
  const idle = { ...BUSY, calls: [], queue: [], steers: [], turn: undefined };
  expect(drawAt(80, 60, idle).rows.filter((row) => row.startsWith("row "))).toHaveLength(6);
});

test("the status line shows less in a narrow window, and the mode at every width", () => {
  const status = (columns: number): string => drawAt(columns, 24).rows.at(-1) ?? "";
  expect(status(90)).toBe("claude-sonnet-4-5 · 0/200k · $0.00 · docker · YOLO · 4 queued");
  expect(status(60)).toBe("claude-sonnet-4-5 · docker · YOLO");
  expect(status(40)).toBe("claude-sonnet-4-5 · YOLO");
  expect(status(25)).toBe("YOLO");
});

test("C27: a call shows its seconds", () => {
  expect(drawAt(80, 24).rows.find((row) => row.includes(" 3 terminal"))).toMatch(/12 s$/);
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
