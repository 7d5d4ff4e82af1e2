import { expect, test } from "vitest";
import type { Chat } from "../platform.ts";
import { chatKeyOf, isSharedKey } from "./chat-key.ts";

const ACCOUNT = { platform: "irc", account: "bot@server" };
const DEFAULTS = { group_sessions_per_user: true, thread_sessions_per_user: false };
const keyOf = (chat: Chat, id: string, rules = DEFAULTS) =>
  chatKeyOf(ACCOUNT, { chat, sender: { id, isBot: false, isProven: true } }, rules);

test("C2: each direct chat has its own session, even if several people write in it", () => {
  const anna: Chat = { chatId: "anna", type: "dm" };
  expect(keyOf(anna, "anna")).toBe(keyOf(anna, "anna-at-work"));
  expect(keyOf(anna, "anna")).not.toBe(keyOf({ chatId: "ben", type: "dm" }, "anna"));
  expect(isSharedKey(keyOf(anna, "anna"))).toBe(false);
});

test("C3: in a group each person has a session, and in a thread all share one", () => {
  const room: Chat = { chatId: "room", type: "group" };
  const thread: Chat = { ...room, threadId: "7" };
  expect(keyOf(room, "anna")).not.toBe(keyOf(room, "ben"));
  expect(isSharedKey(keyOf(room, "anna"))).toBe(false);
  expect(keyOf(thread, "anna")).toBe(keyOf(thread, "ben"));
  expect(isSharedKey(keyOf(thread, "anna"))).toBe(true);
});

test("K36: a thread has one session in whatever order its people write, and two threads of a chat have two", () => {
  const room: Chat = { chatId: "room", type: "channel" };
  const [one, other] = [
    { ...room, threadId: "7" },
    { ...room, threadId: "8" },
  ];
  expect(new Set([keyOf(one, "anna"), keyOf(one, "ben"), keyOf(one, "anna")]).size).toBe(1);
  expect(keyOf(one, "anna")).not.toBe(keyOf(other, "anna"));
});

test("C3: settings can change who shares a session, in groups and in threads", () => {
  const rules = { group_sessions_per_user: false, thread_sessions_per_user: true };
  const room: Chat = { chatId: "room", type: "group" };
  expect(keyOf(room, "anna", rules)).toBe(keyOf(room, "ben", rules));
  expect(keyOf({ ...room, threadId: "7" }, "anna", rules)).not.toBe(
    keyOf({ ...room, threadId: "7" }, "ben", rules),
  );
});

test("ids with separators cannot lead to the session of another chat", () => {
  const one = keyOf({ chatId: "a:b", type: "group" }, "c");
  const other = keyOf({ chatId: "a", type: "group", threadId: "b" }, "c");
  expect(one).not.toBe(other);
  expect(keyOf({ chatId: "a", type: "group" }, "b:c")).not.toBe(keyOf({ chatId: "a:b", type: "group" }, "c"));
});
