import { existsSync } from "node:fs";
import { mkdir, utimes } from "node:fs/promises";
import { expect, test } from "vitest";
import { tempFolder } from "../../../test/support/temp-folder.ts";
import { TurnableClock } from "../../../test/support/turnable-clock.ts";
import { neverAborted } from "../../lib/time/never-aborted.ts";
import { createChatStore } from "../chats/chat-store.ts";
import { createInbox } from "../inbox/inbox.ts";
import { createOutbox } from "../outbox/outbox.ts";
import { openGatewayDatabase } from "./gateway-database.ts";
import { KEPT_MS, pruneMessages, removeOldFolders } from "./prune-messages.ts";

const message = (id: string) => ({
  id,
  chat: { chatId: "anna", type: "dm" as const },
  sender: { id: "anna", isBot: false, isProven: true },
  text: id,
  sentAt: 0,
  isAddressed: true,
});

test("K29: messages that ended thirty days ago are deleted with their answers; waiting messages and the cursor are kept", async () => {
  await using folder = await tempFolder();
  const clock = new TurnableClock();
  using database = await openGatewayDatabase(folder.file("gateway.sqlite"), clock, neverAborted);
  const [inbox, outbox, chats] = [createInbox(database), createOutbox(database), createChatStore(database)];
  const account = { platform: "irc", account: "bot" };
  const target = { platform: "irc", chatId: "anna" };
  await inbox.store(account, [message("old"), message("waiting")], "7", neverAborted);
  await database.write(() => {
    chats.use("anna", target, "Anna");
    inbox.settle(1, "waiting", { chatKey: "anna" });
  }, neverAborted);
  const turn = (await chats.begin("anna", neverAborted)) ?? "";
  await database.write(() => {
    outbox.add({ source: `turn:${turn}`, target, contents: [{ type: "text", text: "answer" }], inboxKey: 1 });
    chats.end({ id: turn, chatKey: "anna" }, "completed");
  }, neverAborted);
  const [part] = outbox.ofSource(`turn:${turn}`);
  await outbox.end(part?.key ?? 0, "sent", { messageId: "m1" }, neverAborted);

  await clock.advance(KEPT_MS);
  await pruneMessages(database, neverAborted);
  expect(inbox.find(1)).toBeDefined();
  await clock.advance(1);
  await pruneMessages(database, neverAborted);
  expect(inbox.find(1)).toBeUndefined();
  expect(outbox.ofSource(`turn:${turn}`)).toEqual([]);
  expect(chats.findTurn(turn)).toBeUndefined();
  expect(chats.find("anna")).toBeDefined();
  expect(inbox.find(2)).toMatchObject({ state: "stored" });
  expect(inbox.cursor("bot")).toBe("7");
});

test("K29: folders of files that arrived long ago are removed", async () => {
  await using folder = await tempFolder();
  await removeOldFolders(folder.file("missing"), Date.now());
  for (const name of ["old", "new"]) await mkdir(folder.file(name));
  await utimes(folder.file("old"), new Date(1_000), new Date(1_000));
  await removeOldFolders(folder.path, 2_000);
  expect([existsSync(folder.file("old")), existsSync(folder.file("new"))]).toEqual([false, true]);
});
