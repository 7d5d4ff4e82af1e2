import { describe, expect, test } from "vitest";
import { joinIrc, uniqueNick } from "../../../../test/support/irc-person.ts";
import { platformParts } from "../../../../test/support/platform-parts.ts";
import { describeWith } from "../../../../test/support/services.ts";
import { startTcpRelay } from "../../../../test/support/tcp-relay.ts";
import { platformContract } from "../../platform.contract.ts";
import type { InboundMessage, InboundSink } from "../../platform.ts";
import { parseIrcLine, readIrcMessage } from "./irc-line.ts";
import { open } from "./irc-platform.ts";
import { ircOptions } from "./options.ts";

const signal = new AbortController().signal;

describeWith("irc", "IRC", (server) => {
  const openBot = (port: number, more: object = {}) =>
    open(
      ircOptions.parse({
        server: server.host,
        port,
        use_tls: false,
        nickname: uniqueNick("bot"),
        trust_nicknames: true,
        ...more,
      }),
      platformParts(),
    );
  const nickOf = ({ account }: { readonly account: string }): string => account.split("@")[0] ?? "";

  platformContract(
    async () => {
      const relay = await startTcpRelay(server);
      const platform = openBot(relay.port);
      const person = await joinIrc(server, uniqueNick("anna"));
      return {
        platform,
        chat: { chatId: person.nick },
        async write(text) {
          person.say(nickOf(platform), text);
          await person.settled();
        },
        received: (count) => person.heard(count),
        cut: async () => relay.cut(),
        async [Symbol.asyncDispose]() {
          await person[Symbol.asyncDispose]();
          await relay[Symbol.asyncDispose]();
        },
      };
    },
    {
      losesWhileAway: "IRC servers deliver only to connected clients",
      neverRepeats: "IRC has no acknowledgement",
      cannotTell: "IRC servers keep no messages",
    },
  );

  test("in a channel only a message with our name is addressed to us, and the name is removed", async () => {
    const channel = `#${uniqueNick("room")}`;
    const bot = openBot(server.port, { channels: [channel] });
    const stored: InboundMessage[] = [];
    await using _connection = await bot.connect(collect(stored), signal);
    await using anna = await joinIrc(server, uniqueNick("anna"), [channel]);
    await expect
      .poll(async () => {
        anna.say(channel, "just talking");
        await anna.settled();
        return stored.length;
      })
      .toBeGreaterThan(0); // once the bot has joined, too
    anna.say(channel, `${nickOf(bot)}: help me`);
    await expect.poll(() => stored.at(-1)?.text).toBe("help me");
    expect(stored.at(-1)).toMatchObject({ isAddressed: true, chat: { chatId: channel, type: "channel" } });
    expect(stored[0]).toMatchObject({ isAddressed: false, text: "just talking" });
  });

  test("a part for a person who is offline is not sent, and the failure is final", async () => {
    await using connection = await openBot(server.port).connect(collect([]), signal);
    const content = { type: "text", text: "anyone?" } as const;
    const part = { id: "p-1", chat: { chatId: uniqueNick("gone") }, content, createdAt: 0 };
    expect(await connection.send(part, signal)).toMatchObject({
      certainty: "not-sent",
      isFinal: true,
      reason: expect.stringMatching(/no such nick/i),
    });
  });

  test.each(["also bad", "#room\r\nQUIT :bye", "a,b", ""])(
    "a part for %j is refused, because that is not the name of a person or a channel",
    async (chatId) => {
      await using connection = await openBot(server.port).connect(collect([]), signal);
      const content = { type: "text", text: "hello" } as const;
      const result = await connection.send({ id: "p-1", chat: { chatId }, content, createdAt: 0 }, signal);
      expect(result).toMatchObject({ certainty: "not-sent", isFinal: true });
    },
  );

  test("a text with line breaks and a command in it stays one text of several lines", async () => {
    await using anna = await joinIrc(server, uniqueNick("anna"));
    await using connection = await openBot(server.port).connect(collect([]), signal);
    const content = { type: "text", text: "first\nQUIT :fooled\n\nlast" } as const;
    const part = { id: "p-1", chat: { chatId: anna.nick }, content, createdAt: 0 };
    expect(await connection.send(part, signal)).toMatchObject({ certainty: "sent" });
    const heard = await anna.heard(3);
    expect(heard.map((line) => line.replace(/^\S+: /, ""))).toEqual(["first", "QUIT :fooled", "last"]);
  });

  test("when the server falls silent in the middle of a part, it is unknown whether the part has arrived", async () => {
    await using relay = await startTcpRelay(server);
    await using anna = await joinIrc(server, uniqueNick("anna"));
    await using connection = await openBot(relay.port).connect(collect([]), signal);
    const written = relay.freeze();
    const content = { type: "text", text: "hello?" } as const;
    const sending = connection.send(
      { id: "p-1", chat: { chatId: anna.nick }, content, createdAt: 0 },
      signal,
    );
    await written;
    await connection[Symbol.asyncDispose]();
    expect(await sending).toMatchObject({ certainty: "unknown" });
  });

  test("a nickname that is in use is a failure that is tried again", async () => {
    const bot = openBot(server.port);
    await using _first = await bot.connect(collect([]), signal);
    await expect(bot.connect(collect([]), signal)).rejects.toMatchObject({
      code: "unreachable",
      isRetryable: true,
      message: expect.stringContaining("in use"),
    });
  });

  test("a server that is down is unreachable", async () => {
    await using relay = await startTcpRelay(server);
    relay.setDown(true);
    await expect(openBot(relay.port).connect(collect([]), signal)).rejects.toMatchObject({
      code: "unreachable",
    });
  });
});

describe("lines of IRC", () => {
  const read = (line: string) => {
    const parsed = parseIrcLine(line);
    return parsed && readIrcMessage(parsed, "Bot");
  };

  test("the account that the server names is the identity, not the nickname", () => {
    expect(read("@account=anna;msgid=x\\s1;time=2026-01-01T00:00:00.000Z :Nick!u@h PRIVMSG Bot :hi")).toEqual(
      {
        chatId: "nick",
        isDirect: true,
        nick: "Nick",
        account: "anna",
        isBot: false,
        text: "hi",
        isAddressed: true,
        id: "x 1",
        sentAt: Date.UTC(2026, 0, 1),
      },
    );
  });

  test.each([
    [":Bot!u@h PRIVMSG #room :our own words"],
    [":anna!u@h NOTICE Bot :an automatic message"],
    [":anna!u@h PRIVMSG Bot :\u0001VERSION\u0001"],
    [":anna!u@h PRIVMSG Bot :\u0002\u0003 "],
    [":anna!u@h PRIVMSG Bot"],
    [""],
    [":"],
    ["@a=b"],
  ])("%j is not read as a message of a person", (line) => {
    expect(read(line)).toBeUndefined();
  });

  test.each([
    ["Bot: do it", true, "do it"],
    ["bot, do it", true, "do it"],
    ["\u0002bot\u0002 do it", true, "do it"],
    ["ask bot about it", true, "ask bot about it"],
    ["robots are nice", false, "robots are nice"],
    ["bottle", false, "bottle"],
    ["\u0001ACTION waves at bot\u0001", true, "* anna waves at bot"],
  ])("%j in a channel is addressed to the bot: %s", (words, isAddressed, text) => {
    expect(read(`:anna!u@h PRIVMSG #room :${words}`)).toMatchObject({ isAddressed, text, chatId: "#room" });
  });
});

function collect(stored: InboundMessage[]): InboundSink {
  return {
    cursor: undefined,
    store: async (messages) => void stored.push(...messages),
    alive: () => undefined,
  };
}
