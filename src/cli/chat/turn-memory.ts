import { getHeapStatistics } from "node:v8";
import { releaseMemory } from "../../lib/process/release-memory.ts";
import type { ChatState } from "./state/chat-state.ts";

/** Releases the memory that a long turn needed, when the turn has ended and the user is not typing. */
export interface TurnMemory extends Disposable {
  /** A key was pressed, so the release waits. */
  touch(): void;
  watch(before: Pick<ChatState, "turn">, after: Pick<ChatState, "turn">): void;
}

export interface TurnMemoryParts {
  /** The memory that V8 has reserved for the heap. */
  heapBytes(): number;
  release(): Promise<void>;
}

const QUIET_MS = 300;
/** A smaller gain is not worth the pause. */
const MIN_GROWTH_BYTES = 32 * 1024 * 1024;

export const v8Memory: TurnMemoryParts = {
  heapBytes: () => getHeapStatistics().total_heap_size,
  release: releaseMemory,
};

export function createTurnMemory({ heapBytes, release }: TurnMemoryParts): TurnMemory {
  let usual: number | undefined; // the size before the first turn, or after the last release
  let timer: NodeJS.Timeout | undefined;

  async function check(): Promise<void> {
    timer = undefined;
    if (heapBytes() < (usual ?? 0) + MIN_GROWTH_BYTES) return;
    await release().catch(() => undefined); // the chat works without it, too
    usual = heapBytes();
  }
  function wait(): void {
    clearTimeout(timer);
    timer = setTimeout(check, QUIET_MS);
  }
  return {
    touch() {
      if (timer !== undefined) wait();
    },
    watch(before, after) {
      if (after.turn !== undefined) {
        usual ??= heapBytes();
        clearTimeout(timer);
        timer = undefined;
      } else if (before.turn !== undefined) wait();
    },
    [Symbol.dispose]: () => clearTimeout(timer),
  };
}
