import type { Clock } from "../../lib/time/clock.ts";
import type { ChatAddress } from "../platform.ts";

/** Chats in which the service refuses requests for a while. Actions that may get lost are not tried there. */
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
