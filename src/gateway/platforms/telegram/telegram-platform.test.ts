import { writeFile } from "node:fs/promises";
import { describe, expect, test } from "vitest";
import { collectMessages } from "../../../../test/support/collect-messages.ts";
import { platformParts } from "../../../../test/support/platform-parts.ts";
import { startProxy } from "../../../../test/support/proxy.ts";
import { ANNA, startTelegramServer, type TelegramServer } from "../../../../test/support/telegram-server.ts";
import { tempFolder } from "../../../../test/support/temp-folder.ts";
import { TurnableClock } from "../../../../test/support/turnable-clock.ts";
import { platformContract } from "../../platform.contract.ts";
import type { OutboundPart } from "../../platform.ts";
import { telegramOptions } from "./options.ts";
import { open } from "./telegram-platform.ts";

const signal = new AbortController().signal;
const chat = { chatId: String(ANNA) };

const openBot = ({ url, token }: TelegramServer, parts = platformParts(), more: object = {}) =>
  open(telegramOptions.parse({ token, base_url: url, ...more }), parts);

function part(text: string, more: Partial<OutboundPart> = {}): OutboundPart {
  return { id: "p-1", chat, content: { type: "text", text }, createdAt: Date.now(), ...more };
}

describe("Telegram, with a local server that follows its documentation", () => {
  platformContract(
    async () => {
      const server = await startTelegramServer();
      return {
        platform: openBot(server),
        chat,
        write: async (text) => void server.write(text),
        received: (count) => server.texts(count),
        cut: async () => server.cut(),
        [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
      };
    },
    { cannotTell: "bots cannot read what they have written" },
  );

  test("K27: updates are confirmed only after they are stored, and a later process continues after them", async () => {
    await using server = await startTelegramServer();
    const inbox = collectMessages();
    {
      await using _connection = await openBot(server).connect(inbox, signal);
      server.write("one");
      await inbox.messages(1);
    }
    server.write("two");
    await using _connection = await openBot(server).connect(inbox, signal);
    await inbox.messages(2);
    expect(inbox.stored.map(({ text }) => text)).toEqual(["one", "two"]);
  });

  test("K11: while another program polls, the platform is not connected; at the start that is final", async () => {
    await using server = await startTelegramServer();
    const clock = new TurnableClock();
    const inbox = collectMessages();
    server.setOtherProgram(true);
    const connecting = openBot(server, platformParts({ clock })).connect(inbox, signal);
    const failure = expect(connecting).rejects.toMatchObject({
      code: "refused",
      message: expect.stringContaining("another program receives the messages of this bot"),
    });
    for (let waited = 0; waited <= 36_000; waited += 3_000) {
      await expect.poll(() => clock.sleeping).toBe(1);
      await clock.advance(3_000);
      if (waited >= 33_000) break;
    }
    await failure;
    expect(inbox.aliveCount).toBe(0);
  });

  test("K11: the request of a process that was killed is waited out", async () => {
    await using server = await startTelegramServer();
    const clock = new TurnableClock();
    server.setOtherProgram(true);
    const inbox = collectMessages();
    const connecting = openBot(server, platformParts({ clock })).connect(inbox, signal);
    await expect.poll(() => clock.sleeping).toBe(1);
    server.setOtherProgram(false);
    await clock.advance(3_000);
    await using _connection = await connecting;
    expect(inbox.aliveCount).toBe(1);
  });

  test("K11: a second program that starts later ends the connection after a minute without a successful poll", async () => {
    await using server = await startTelegramServer();
    const clock = new TurnableClock();
    const inbox = collectMessages();
    await using connection = await openBot(server, platformParts({ clock })).connect(inbox, signal);
    server.setOtherProgram(true);
    const before = inbox.aliveCount;
    for (let waited = 0; waited <= 60_000; waited += 3_000) {
      await expect.poll(() => clock.sleeping).toBe(1);
      await clock.advance(3_000);
    }
    expect(await connection.ended).toMatchObject({ code: "unreachable", isRetryable: true });
    expect(inbox.aliveCount).toBe(before);
  });

  test("an earlier webhook is removed together with its pending updates", async () => {
    await using server = await startTelegramServer();
    server.setWebhook(true);
    server.write("waited");
    const inbox = collectMessages();
    await using _connection = await openBot(server).connect(inbox, signal);
    expect((await inbox.messages(1)).map(({ text }) => text)).toEqual(["waited"]);
  });

  test("a wrong or revoked token waits for a person, and no error contains it", async () => {
    await using server = await startTelegramServer();
    const wrong = "7000001:AAF-another_token_of_somebody_else_00";
    const failure = await openBot(server, platformParts(), { token: wrong })
      .connect(collectMessages(), signal)
      .catch((error: unknown) => error);
    expect(failure).toMatchObject({ code: "refused", isRetryable: false });
    await using connection = await openBot(server).connect(collectMessages(), signal);
    server.revoke();
    const ended = await connection.ended;
    expect(ended).toMatchObject({ code: "refused" });
    const down = await openBot(server, platformParts(), { base_url: "http://127.0.0.1:1" })
      .connect(collectMessages(), signal)
      .catch((error: unknown) => error);
    expect(down).toMatchObject({ code: "unreachable" });
    for (const error of [failure, ended, down]) expect(everythingIn(error)).not.toContain("AAF-");
  });

  test("K8: it is unknown whether a message was sent if the connection breaks afterwards or the answer is a web page", async () => {
    await using server = await startTelegramServer();
    await using connection = await openBot(server).connect(collectMessages(), signal);
    server.faults("sendMessage", "drop-after", "<html>Bad Gateway</html>", {
      code: 500,
      description: "Internal",
    });
    for (let count = 0; count < 3; count++) {
      const result = await connection.send(part("hello"), signal);
      expect(result.certainty).toBe("unknown");
      expect(JSON.stringify(result)).not.toContain("AAF-");
    }
    expect(await server.texts(1)).toEqual(["hello"]);
  });

  test("K9: a flood wait is passed on, and nothing was sent", async () => {
    await using server = await startTelegramServer();
    await using connection = await openBot(server).connect(collectMessages(), signal);
    const flood = { code: 429, description: "Too Many Requests: retry after 17", retryAfter: 17 };
    server.faults("sendMessage", flood);
    expect(await connection.send(part("hello"), signal)).toMatchObject({
      certainty: "not-sent",
      isFinal: false,
      retryAfterMs: 17_000,
    });
    server.faults("sendChatAction", flood);
    expect(await connection.act({ type: "typing", chat }, signal)).toMatchObject({
      ok: false,
      retryAfterMs: 17_000,
    });
  });

  test("a part for a chat that was deleted or has blocked the bot is a final failure", async () => {
    await using server = await startTelegramServer();
    await using connection = await openBot(server).connect(collectMessages(), signal);
    for (const chatId of ["404", "403"])
      expect(await connection.send(part("hello", { chat: { chatId } }), signal)).toMatchObject({
        certainty: "not-sent",
        isFinal: true,
        reason: expect.stringMatching(
          /^Telegram answered: (?:Bad Request: chat not found|Forbidden: bot was blocked)/,
        ),
      });
  });

  test("a text of 4096 UTF-16 units fits, also in characters of two units", async () => {
    await using server = await startTelegramServer();
    await using connection = await openBot(server).connect(collectMessages(), signal);
    expect(await connection.send(part("😀".repeat(2_048)), signal)).toMatchObject({ certainty: "sent" });
    expect(await connection.send(part("😀".repeat(2_049)), signal)).toMatchObject({
      certainty: "not-sent",
      isFinal: true,
    });
  });

  test("choices are buttons, and a press is a message with the choice", async () => {
    await using server = await startTelegramServer();
    const inbox = collectMessages();
    await using connection = await openBot(server).connect(inbox, signal);
    const choices = [
      { label: "Yes", value: "approve:a_1:once" },
      { label: "No", value: "deny:a_1" },
    ];
    const content = { type: "text", text: "May I?", choices } as const;
    const result = await connection.send(part("", { content }), signal);
    expect(server.sent[0]?.fields["reply_markup"]).toEqual({
      inline_keyboard: [
        [{ text: "Yes", callback_data: "approve:a_1:once" }],
        [{ text: "No", callback_data: "deny:a_1" }],
      ],
    });
    const messageId = result.certainty === "sent" ? Number(result.messageId) : 0;
    server.press(messageId, "deny:a_1");
    const [press] = await inbox.messages(1);
    expect(press).toMatchObject({
      choice: "deny:a_1",
      chat,
      repliesTo: { id: String(messageId) },
      isAddressed: true,
    });
    await expect.poll(() => server.calls).toContain("answerCallbackQuery");
  });

  test("typing is shown, an edit replaces the text, and an edit that changes nothing succeeds", async () => {
    await using server = await startTelegramServer();
    await using connection = await openBot(server).connect(collectMessages(), signal);
    const sent = await connection.send(part("Working"), signal);
    const messageId = (sent.certainty === "sent" && sent.messageId) || "";
    const edit = { type: "edit", chat, messageId, text: "Done" } as const;
    expect(await connection.act({ type: "typing", chat }, signal)).toEqual({ ok: true });
    expect(await connection.act(edit, signal)).toEqual({ ok: true });
    expect(await connection.act(edit, signal)).toEqual({ ok: true });
    expect(await connection.act({ ...edit, messageId: "99999" }, signal)).toMatchObject({ ok: false });
    expect(await server.texts(1)).toEqual(["Done"]);
  });

  test("files of a message are fetched, and one that is too large is named", async () => {
    await using server = await startTelegramServer();
    server.files.set("f 1", Buffer.from("1,2,3"));
    const inbox = collectMessages();
    await using _connection = await openBot(server).connect(inbox, signal);
    const document = {
      file_id: "f 1",
      file_unique_id: "f 1",
      file_name: "../x.csv",
      mime_type: "text/csv",
      file_size: 5,
    };
    server.write("", { caption: "a table", document });
    server.write("", { document: { ...document, file_id: "f2", file_size: 30_000_000 } });
    server.write("", { photo: [{ file_id: "f3" }, { file_id: "f4" }] });
    const [table, film, photo] = await inbox.messages(3);
    expect(table).toMatchObject({ text: "a table" });
    expect(table?.attachments).toEqual([
      { name: "../x.csv", mediaType: "text/csv", content: Buffer.from("1,2,3") },
    ]);
    expect(film?.attachments).toEqual([
      { name: "../x.csv", mediaType: "text/csv", problem: "it is larger than 1000000 bytes" },
    ]);
    expect(photo?.attachments).toEqual([
      { name: "photo.jpg", mediaType: "image/jpeg", problem: expect.stringContaining("wrong file_id") },
    ]);
    expect(JSON.stringify(inbox.stored)).not.toContain("AAF-");
  });

  test("K23: a file is fetched from the Bot API and nowhere else, whatever its path says", async () => {
    await using server = await startTelegramServer();
    await using elsewhere = await startTelegramServer();
    const fileId = `../../../@${new URL(elsewhere.url).host}/bot${elsewhere.token}/getMe`;
    server.files.set(fileId, Buffer.from("x"));
    const inbox = collectMessages();
    await using _connection = await openBot(server).connect(inbox, signal);
    server.write("", { document: { file_id: fileId, file_unique_id: "1", file_name: "x" } });
    const [message] = await inbox.messages(1);
    expect(message?.attachments).toEqual([expect.objectContaining({ problem: "the server answered 401" })]);
    expect(elsewhere.calls).toEqual([]);
  });

  test("the proxy of the platform is used, and no error contains its password", async () => {
    await using server = await startTelegramServer();
    await using proxy = await startProxy({ credentials: "bot:right-password" });
    const through = (password: string) =>
      openBot(server, platformParts(), { proxy: `http://bot:${password}@127.0.0.1:${proxy.port}` });
    await using _connection = await through("right-password").connect(collectMessages(), signal);
    expect(proxy.log.length).toBeGreaterThan(2);
    const refused = await through("wrong-password")
      .connect(collectMessages(), signal)
      .catch((error: unknown) => error);
    expect(refused).toMatchObject({ code: "unreachable" });
    expect(everythingIn(refused)).not.toContain("wrong-password");
  });

  test("files are sent as documents, and pictures as photos", async () => {
    await using server = await startTelegramServer();
    await using folder = await tempFolder();
    await writeFile(folder.file("x"), "1,2,3");
    await using connection = await openBot(server).connect(collectMessages(), signal);
    const file = {
      type: "file",
      path: folder.file("x"),
      name: "täble.csv",
      mediaType: "text/csv",
      caption: "c".repeat(2_000),
    } as const;
    expect(await connection.send(part("", { content: file }), signal)).toMatchObject({ certainty: "sent" });
    const photo = { ...file, name: "x.png", mediaType: "image/png", caption: "small" };
    expect(await connection.send(part("", { content: photo }), signal)).toMatchObject({ certainty: "sent" });
    expect(server.sent.map(({ method }) => method)).toEqual(["sendDocument", "sendPhoto"]);
    expect(server.sent[0]?.fields["document"]).toEqual({ name: "täble.csv", content: "1,2,3" });
    expect(server.sent[1]?.fields).toMatchObject({ photo: { content: "1,2,3" }, caption: "small" });
    const gone = { ...file, path: folder.file("gone") };
    expect(await connection.send(part("", { content: gone }), signal)).toMatchObject({
      certainty: "not-sent",
    });
  });

  test("an answer is shown as a reply, in its topic", async () => {
    await using server = await startTelegramServer();
    await using connection = await openBot(server).connect(collectMessages(), signal);
    await connection.send(part("here", { chat: { ...chat, threadId: "77" }, repliesTo: "12" }), signal);
    await connection.send(part("pressed", { repliesTo: "press-1" }), signal);
    expect(server.sent[0]?.fields).toMatchObject({
      message_thread_id: 77,
      reply_parameters: { message_id: 12, allow_sending_without_reply: true },
    });
    expect(server.sent[1]?.fields).not.toHaveProperty("reply_parameters");
  });

  const group = { id: -1_002, type: "supergroup", title: "Team" };
  const entity = (type: string, text: string, word: string, more: object = {}) => ({
    entities: [{ type, offset: text.indexOf(word), length: word.length, ...more }],
  });

  test.each([
    ["a plain text", "hello all", {}, false, "hello all"],
    [
      "a mention at the beginning",
      "@Our_Test_Bot: do it",
      entity("mention", "@Our_Test_Bot: do it", "@Our_Test_Bot"),
      true,
      "do it",
    ],
    [
      "a mention within",
      "ask @our_test_bot about it",
      entity("mention", "ask @our_test_bot about it", "@our_test_bot"),
      true,
      "ask @our_test_bot about it",
    ],
    [
      "a mention of another bot",
      "@other_bot do it",
      entity("mention", "@other_bot do it", "@other_bot"),
      false,
      "@other_bot do it",
    ],
    ["our name without a mention", "our_test_bot is nice", {}, false, "our_test_bot is nice"],
    ["a command", "/status", entity("bot_command", "/status", "/status"), true, "/status"],
    [
      "a command for us",
      "/status@our_test_bot",
      entity("bot_command", "/status@our_test_bot", "/status@our_test_bot"),
      true,
      "/status@our_test_bot",
    ],
    [
      "a command for another bot",
      "/status@other_bot",
      entity("bot_command", "/status@other_bot", "/status@other_bot"),
      false,
      "/status@other_bot",
    ],
    [
      "a reply to us",
      "yes",
      { reply_to_message: { message_id: 3, from: { id: 7_000_001 }, text: "Sure?" } },
      true,
      "yes",
    ],
    [
      "a reply to somebody",
      "yes",
      { reply_to_message: { message_id: 3, from: { id: 5 }, text: "Sure?" } },
      false,
      "yes",
    ],
    [
      "the first message of a topic",
      "yes",
      {
        is_topic_message: true,
        message_thread_id: 3,
        reply_to_message: { message_id: 3, from: { id: 7_000_001 } },
      },
      false,
      "yes",
    ],
  ])("in a group, %s", async (_, text, change, isAddressed, expected) => {
    await using server = await startTelegramServer();
    const inbox = collectMessages();
    await using _connection = await openBot(server).connect(inbox, signal);
    server.write(text, { chat: group, ...change });
    expect((await inbox.messages(1))[0]).toMatchObject({
      text: expected,
      isAddressed,
      chat: { chatId: "-1002", type: "group", name: "Team" },
      sender: { id: String(ANNA), name: "Anna Ash" },
    });
  });

  test("updates that are not messages are skipped, and later updates arrive", async () => {
    await using server = await startTelegramServer();
    const inbox = collectMessages();
    await using _connection = await openBot(server).connect(inbox, signal);
    server.write("", { new_chat_members: [{ id: 5 }] });
    server.write("", { from: { id: server.botId, is_bot: true, first_name: "Test" }, text: "our own" });
    server.write("", { sticker: { file_id: "s", emoji: "🎉" } });
    server.write("last");
    await inbox.messages(2);
    expect(inbox.stored.map(({ text }) => text)).toEqual(["[sticker 🎉]", "last"]);
  });
});

/** All texts that a log could make of an error. */
function everythingIn(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return `${error.message} ${error.stack} ${JSON.stringify(error)} ${error.cause === undefined ? "" : everythingIn(error.cause)}`;
}
