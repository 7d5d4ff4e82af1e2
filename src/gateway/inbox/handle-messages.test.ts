import { expect, test } from "vitest";
import { silentLog } from "../../../test/support/silent-log.ts";
import { tempFolder } from "../../../test/support/temp-folder.ts";
import { systemClock } from "../../lib/time/clock.ts";
import { neverAborted } from "../../lib/time/never-aborted.ts";
import { openGatewayDatabase } from "../store/gateway-database.ts";
import { createMessageHandler, type MessageHandlerParts } from "./handle-messages.ts";
import { createInbox } from "./inbox.ts";

const FLOOD = 300;

test("K26: while a flood of stored messages is handled, everything else in the process runs", async () => {
  await using folder = await tempFolder();
  using database = await openGatewayDatabase(folder.file("gateway.sqlite"), systemClock, neverAborted);
  const inbox = createInbox(database);
  const messages = Array.from({ length: FLOOD }, (_, number) => ({
    id: `in${number}`,
    chat: { chatId: "anna", type: "dm" as const },
    sender: { id: "anna", isBot: false, isProven: true },
    text: "hello",
    sentAt: 0,
    isAddressed: true,
  }));
  await inbox.store({ platform: "gone", account: "bot" }, messages, undefined, neverAborted);
  let rounds = 0;
  let isDone = false;
  const count = (): void => {
    rounds++;
    if (!isDone) setImmediate(count);
  };
  count();
  // The messages of a platform that is not configured any more need nothing but the database.
  const parts = { database, inbox, log: silentLog, optionsOf: () => undefined };
  await createMessageHandler(parts as unknown as MessageHandlerParts).handleStored(neverAborted);
  isDone = true;
  expect(inbox.counts()).toEqual({ refused: FLOOD });
  expect(rounds).toBeGreaterThan(FLOOD / 2);
});
