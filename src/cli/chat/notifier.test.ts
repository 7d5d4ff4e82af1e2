import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { Approval } from "../../approvals/approval.ts";
import { createNotifier, type NotifyMode } from "./notifier.ts";
import { INITIAL_STATE } from "./state/chat-state.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

function openLab(mode: NotifyMode, variables: Record<string, string> = {}) {
  const written: string[] = [];
  const notifier = createNotifier({
    write: (text) => void written.push(text),
    variables,
    now: () => Date.now(),
  });
  notifier.setMode(mode);
  return { notifier, written };
}

const workingState = () => ({
  ...INITIAL_STATE,
  turn: { startedAt: Date.now(), activity: "answering" as const, activeAt: Date.now() },
});
const askingState = () => ({
  ...workingState(),
  questions: [{ approval: { id: "a_1" } as Approval, number: 1, askedAt: Date.now(), wasTooEarly: false }],
});

test("C45: a turn of more than 20 s that ends while nobody types rings once; a short one, or one during which the user types, does not", () => {
  const { notifier, written } = openLab("bell");
  const long = workingState();
  vi.advanceTimersByTime(25_000);
  notifier.watch(long, INITIAL_STATE);
  notifier.watch(INITIAL_STATE, INITIAL_STATE);
  expect(written).toEqual(["\u0007"]);
  notifier.watch(workingState(), INITIAL_STATE);
  const beside = workingState();
  vi.advanceTimersByTime(25_000);
  notifier.touch();
  notifier.watch(beside, INITIAL_STATE);
  expect(written).toHaveLength(1);
});

test("C45: a question that waits rings once, 20 s after it appeared or after the last key", () => {
  const { notifier, written } = openLab("bell");
  notifier.watch(workingState(), askingState());
  vi.advanceTimersByTime(19_000);
  notifier.touch();
  vi.advanceTimersByTime(19_000);
  expect(written).toEqual([]);
  vi.advanceTimersByTime(60_000);
  expect(written).toEqual(["\u0007"]);
  const answered = openLab("bell");
  answered.notifier.watch(workingState(), askingState());
  answered.notifier.watch(askingState(), workingState());
  vi.advanceTimersByTime(60_000);
  expect(answered.written).toEqual([]);
});

test.each([
  ["desktop", { TERM_PROGRAM: "WezTerm" }, ["\u001b]9;Hermes has finished\u0007"]],
  ["desktop", { TERM_PROGRAM: "WezTerm", TMUX: "x" }, ["\u0007"]],
  ["desktop", {}, ["\u0007"]],
  ["off", { TERM_PROGRAM: "WezTerm" }, []],
] as const)("C45: display.notify %s with %j writes %j", (mode, variables, expected) => {
  const { notifier, written } = openLab(mode, variables);
  const long = workingState();
  vi.advanceTimersByTime(30_000);
  notifier.watch(long, INITIAL_STATE);
  expect(written).toEqual(expected);
});
