import type { Clock } from "../../lib/time/clock.ts";
import type { ChatAddress } from "../platform.ts";

/** Chats that the service wants to be left alone for a while: what may get lost is not even tried in them. */
export interface RateLimitedChats {
  add(chat: ChatAddress, forMs: number): void;
  leftMs(chat: ChatAddress): number;
}

export function createRateLimitedChats(clock: Clock): RateLimitedChats {
  const until = new Map<string, number>();
  return {
    add({ chatId }, forMs) {
      until.set(chatId, Math.max(until.get(chatId) ?? 0, clock.now() + forMs));
    },
    leftMs({ chatId }) {
      const left = (until.get(chatId) ?? 0) - clock.now();
      if (left <= 0) until.delete(chatId);
      return Math.max(0, left);
    },
  };
}
