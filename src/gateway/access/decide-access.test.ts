import { expect, test } from "vitest";
import type { Chat, Sender } from "../platform.ts";
import { scriptedOptions } from "../platforms/scripted/options.ts";
import { decideAccess, mayUseCommand } from "./decide-access.ts";

const ANNA: Sender = { id: "anna", isBot: false, isProven: true };
const DIRECT: Chat = { chatId: "anna", type: "dm" };
const GROUP: Chat = { chatId: "room", type: "group" };

function decide(
  settings: object,
  {
    sender = ANNA,
    chat = DIRECT,
    everywhere = {},
    isPaired = false,
  }: { sender?: Sender; chat?: Chat; everywhere?: object; isPaired?: boolean } = {},
) {
  return decideAccess(
    { chat, sender },
    {
      options: scriptedOptions.parse(settings),
      everywhere: { allowed_users: [], allow_all_users: false, ...everywhere },
      isPaired,
    },
  );
}

test("D1: without any setting no sender is answered", () => {
  expect(decide({})).toMatchObject({ isAllowed: false });
  expect(decide({}, { chat: GROUP })).toMatchObject({ isAllowed: false });
});

test.each([
  ["the platform's list", { allowed_users: ["anna"] }, {}],
  ["a star in the platform's list", { allowed_users: ["*"] }, {}],
  ["allow_all_users of the platform", { allow_all_users: true }, {}],
  ["the list of all platforms", {}, { everywhere: { allowed_users: ["anna"] } }],
  ["allow_all_users of all platforms", {}, { everywhere: { allow_all_users: true } }],
  ["a pairing", {}, { isPaired: true }],
])("D1: %s lets a person in", (_, settings, more) => {
  expect(decide(settings, more)).toEqual({ isAllowed: true, tier: "admin" });
});

test("D1: an ignored chat is not answered, whatever the lists say, and a list of groups excludes all other groups", () => {
  expect(decide({ allow_all_users: true, ignored_chats: ["room"] }, { chat: GROUP }).isAllowed).toBe(false);
  expect(decide({ allow_all_users: true, allowed_chats: ["other"] }, { chat: GROUP }).isAllowed).toBe(false);
  expect(decide({ allow_all_users: true, allowed_chats: ["other"] }).isAllowed).toBe(true);
});

test.each([
  ["a list", { allowed_users: ["anna"] }],
  ["a pairing", {}],
  ["an open door", { allow_all_users: true }],
  ["a list that contains a star", { allowed_users: ["*"] }],
])("D8: %s does not let in a sender whose id the transport has not proved", (_, settings) => {
  const sender = { ...ANNA, isProven: false };
  expect(decide(settings, { sender, isPaired: true })).toEqual({
    isAllowed: false,
    reason: "nothing proves who wrote it",
    mayPair: false,
  });
});

test("a program is never answered", () => {
  expect(decide({ allow_all_users: true }, { sender: { ...ANNA, isBot: true } }).isAllowed).toBe(false);
});

test("D2: only the direct message of a proven stranger may be answered with a code", () => {
  expect(decide({})).toMatchObject({ mayPair: true });
  expect(decide({}, { chat: GROUP })).toMatchObject({ mayPair: false });
  expect(decide({ unauthorized_dm_behavior: "ignore" })).toMatchObject({ mayPair: false });
});

test("D6: with a list of admins, other people may use the commands that the settings name for them and those for everyone", () => {
  const settings = {
    allow_all_users: true,
    allow_admin_from: ["boss"],
    user_allowed_commands: ["new"],
    group_user_allowed_commands: ["status"],
  };
  const options = scriptedOptions.parse(settings);
  expect(decide(settings)).toMatchObject({ tier: "user" });
  expect(decide(settings, { sender: { ...ANNA, id: "boss" } })).toMatchObject({ tier: "admin" });
  // An admin list counts only in its own scope.
  expect(decide(settings, { chat: GROUP })).toMatchObject({ tier: "admin" });
  expect(["new", "status", "help"].map((name) => mayUseCommand(name, "user", true, options))).toEqual([
    true,
    false,
    true,
  ]);
  expect(["new", "status"].map((name) => mayUseCommand(name, "user", false, options))).toEqual([false, true]);
  const groupOnly = scriptedOptions.parse({ group_user_allowed_commands: ["status"] });
  expect(mayUseCommand("status", "user", true, groupOnly)).toBe(true);
});
