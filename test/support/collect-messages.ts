import { expect } from "vitest";
import type { InboundMessage, InboundSink } from "../../src/gateway/platform.ts";

/** An inbox that keeps everything that it receives, including repetitions. */
export interface CollectedMessages extends InboundSink {
  cursor: string | undefined;
  readonly stored: readonly InboundMessage[];
  /** How often a sign of life of the service arrived. */
  readonly aliveCount: number;
  /** The messages, once there are at least `count`. */
  messages(count: number): Promise<readonly InboundMessage[]>;
}

export function collectMessages(cursor?: string): CollectedMessages {
  const stored: InboundMessage[] = [];
  let aliveCount = 0;
  return {
    cursor,
    stored,
    get aliveCount() {
      return aliveCount;
    },
    async store(messages, next) {
      stored.push(...messages);
      this.cursor = next ?? this.cursor;
    },
    alive() {
      aliveCount++;
    },
    async messages(count) {
      await expect.poll(() => stored.length).toBeGreaterThanOrEqual(count);
      return stored;
    },
  };
}
