import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { INITIAL_STATE } from "./state/chat-state.ts";
import { createTurnMemory } from "./turn-memory.ts";

const MB = 1024 * 1024;
const RUNNING = { turn: { startedAt: 0 } } as Parameters<ReturnType<typeof createTurnMemory>["watch"]>[1];

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** Turns of a chat whose heap has the given size, in MB, at the end of each. */
function openMemory() {
  const heap = { mb: 30, releases: 0 };
  const memory = createTurnMemory({
    heapBytes: () => heap.mb * MB,
    async release() {
      heap.releases += 1;
      heap.mb = 25;
    },
  });
  const run = (mb: number): void => {
    memory.watch(INITIAL_STATE, RUNNING);
    heap.mb = mb;
    memory.watch(RUNNING, INITIAL_STATE);
  };
  return { memory, heap, run };
}

test("the memory of a long turn is released shortly after its end", async () => {
  const { heap, run } = openMemory();
  run(100);
  expect(heap.releases).toBe(0);
  await vi.advanceTimersByTimeAsync(500);
  expect(heap).toEqual({ mb: 25, releases: 1 });
});

test("a turn that needed little memory causes no pause", async () => {
  const { heap, run } = openMemory();
  run(60);
  await vi.advanceTimersByTimeAsync(5_000);
  run(60);
  await vi.advanceTimersByTimeAsync(5_000);
  expect(heap.releases).toBe(0);
});

test("nothing is released while the user types or the next turn runs", async () => {
  const { memory, heap, run } = openMemory();
  run(100);
  for (let key = 0; key < 20; key++) {
    memory.touch();
    await vi.advanceTimersByTimeAsync(100);
  }
  memory.watch(INITIAL_STATE, RUNNING);
  await vi.advanceTimersByTimeAsync(5_000);
  expect(heap.releases).toBe(0);
});
