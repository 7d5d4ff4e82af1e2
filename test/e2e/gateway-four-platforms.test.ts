import { createHmac } from "node:crypto";
import { readFileSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { createInbox, type InboxEntry, type InboxState } from "../../src/gateway/inbox/inbox.ts";
import { createOutbox } from "../../src/gateway/outbox/outbox.ts";
import { openGatewayDatabase } from "../../src/gateway/store/gateway-database.ts";
import { systemClock } from "../../src/lib/time/clock.ts";
import { neverAborted } from "../../src/lib/time/never-aborted.ts";
import { freePort } from "../support/free-port.ts";
import { type GatewayProcess, openGatewayHome } from "../support/gateway-lab.ts";
import { joinIrc, uniqueNick } from "../support/irc-person.ts";
import { openMailPerson, uniqueAddress } from "../support/mail-person.ts";
import { scale } from "../support/scale.ts";
import { describeWith } from "../support/services.ts";
import { startTelegramServer } from "../support/telegram-server.ts";

const SECRET = "secret-of-the-hook";
const MARK = "(This may be a repetition.)";
const PLATFORMS = ["telegram", "email", "webhook", "irc"] as const;
type PlatformName = (typeof PLATFORMS)[number];
/** People on IRC, each of whom writes the next message when the last one was answered. */
const IRC_PEOPLE = 4;
const OPEN_STATES: readonly InboxState[] = ["stored", "waiting", "running"];
const KILL_WITHIN_MS = 4_000;

/** What reached a person, and the message that it belongs to. */
interface Said {
  readonly index: number;
  readonly text: string;
}

const scriptFor = (count: number) => ({
  turns: Array.from({ length: count }, (_, index) => ({
    when: `task ${index};`,
    answers: [
      { tools: [{ name: "terminal", input: { command: `echo ${index} >> work.txt` } }] },
      { text: `answer ${index};`, delay_ms: 20, chunk: 4, times: 10 }, // an interruption leaves an answer of its own
    ],
  })),
  answers: [],
});

/** Takes the answers to webhooks. */
async function startReceiver() {
  const bodies: string[] = [];
  const server = createServer(async (request, response) => {
    let body = "";
    for await (const chunk of request) body += String(chunk);
    bodies.push(body);
    response.writeHead(204).end();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  return {
    url: `http://127.0.0.1:${typeof address === "object" ? address?.port : 0}/answers`,
    bodies,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}

describeWith("irc", "the gateway on four platforms at once", (ircServer) => {
  describeWith("mail", "killed again and again", (mailServer) => {
    test("K7, K8, K10, K27: every message of every platform is worked on once, and answered once or with a mark", async () => {
      const count = scale.gatewayPlatformMessages;
      await using telegram = await startTelegramServer();
      await using receiver = await startReceiver();
      const bot = { nick: uniqueNick("bot"), mail: uniqueAddress("bot", "bots.test.invalid") };
      const writer = await openMailPerson(mailServer, uniqueAddress("anna", mailServer.signingDomain));
      const people = await Promise.all(
        Array.from({ length: IRC_PEOPLE }, () => joinIrc(ircServer, uniqueNick("anna"))),
      );
      const port = await freePort();
      await using home = await openGatewayHome(scriptFor(count), {
        platforms: {
          telegram: { base_url: telegram.url, allow_all_users: true },
          email: {
            address: bot.mail,
            imap_host: mailServer.host,
            imap_port: mailServer.imapPort,
            smtp_host: mailServer.host,
            smtp_port: mailServer.smtpPort,
            use_tls: false,
            authserv_id: mailServer.authservId,
            allowed_users: [writer.address],
          },
          webhook: {
            port,
            rate_limit_per_minute: 10_000,
            routes: [
              {
                ...{ name: "build", verify: "generic", prompt: "{text}", answer_url: receiver.url },
                toolsets: ["terminal"],
              },
            ],
          },
          irc: {
            ...{ server: ircServer.host, port: ircServer.port, use_tls: false, nickname: bot.nick },
            trust_nicknames: true,
            allowed_users: people.map(({ nick }) => nick),
          },
        },
        approvals: { mode: "off" },
      });
      const secrets = {
        EMAIL_PASSWORD: mailServer.password,
        TELEGRAM_BOT_TOKEN: telegram.token,
        WEBHOOK_SECRET: SECRET,
      };
      const lines = Object.entries(secrets).map(([name, value]) => `${name}=${value}\n`);
      await writeFile(join(home.path, ".env"), lines.join(""), { mode: 0o600 });
      let gateway: GatewayProcess = await home.run();
      for (const platform of PLATFORMS) await home.connected(platform);
      using database = await openGatewayDatabase(
        join(home.path, "gateway.sqlite"),
        systemClock,
        neverAborted,
      );
      const [inbox, outbox] = [createInbox(database), createOutbox(database)];
      const stored = (): readonly InboxEntry[] => inbox.latest(10 * count);
      const isStored = (index: number): boolean =>
        stored().some(({ message }) => message.text.includes(`task ${index};`));

      const isOpen = (index: number): boolean =>
        stored().some(
          ({ message, state }) => message.text.includes(`task ${index};`) && OPEN_STATES.includes(state),
        );

      const write: Record<PlatformName, (index: number) => Promise<unknown>> = {
        async telegram(index) {
          const id = 2_000 + index;
          telegram.write(`task ${index};`, {
            from: { id, is_bot: false, first_name: "Anna" },
            chat: { id, type: "private", first_name: "Anna" },
          });
        },
        email: (index) => writer.write({ to: bot.mail, subject: `task ${index}`, text: `task ${index};` }),
        // As senders do, it is sent again until it was accepted.
        async webhook(index) {
          const body = JSON.stringify({ text: `task ${index};` });
          const time = String(Math.floor(Date.now() / 1_000));
          const signature = createHmac("sha256", SECRET).update(`${time}.${body}`).digest("hex");
          const headers = { "x-webhook-timestamp": time, "x-webhook-signature-v2": signature };
          const post = async (): Promise<number> => {
            const url = `http://127.0.0.1:${port}/webhooks/build`;
            return (await fetch(url, { method: "POST", body, headers }).catch(() => undefined))?.status ?? 0;
          };
          await expect.poll(post).toBe(202);
        },
        // An IRC line that is sent while the bot is not connected is lost, so people wait for the bot, and repeat a lost line.
        async irc(index) {
          const person = people[Math.floor(index / PLATFORMS.length) % IRC_PEOPLE];
          while (!isStored(index)) {
            person?.say(bot.nick, `task ${index};`);
            for (let wait = 0; wait < 100 && !isStored(index); wait++) await sleep(50);
          }
          while (isOpen(index)) await sleep(50);
        },
      };
      const platformOf = (index: number): PlatformName => PLATFORMS[index % PLATFORMS.length] ?? "irc";
      const all = Array.from({ length: count }, (_, index) => index);
      const chatter = people.map(async (_, person) => {
        for (const index of all.filter(
          (one) => platformOf(one) === "irc" && Math.floor(one / PLATFORMS.length) % IRC_PEOPLE === person,
        ))
          await write.irc(index);
      });
      try {
        let next = 0;
        for (let kill = 1; kill <= scale.gatewayPlatformKills; kill++) {
          const upTo = Math.ceil((count * kill) / scale.gatewayPlatformKills);
          const writing = all
            .slice(next, upTo)
            .filter((index) => platformOf(index) !== "irc")
            .map((index) => write[platformOf(index)](index));
          next = upTo;
          await sleep(Math.random() * KILL_WITHIN_MS);
          await gateway.kill();
          gateway = await home.run();
          await Promise.all(writing);
        }
        await Promise.all(chatter);
        const isSettled = (): boolean =>
          all.every(isStored) &&
          stored().every(({ state }) => !OPEN_STATES.includes(state)) &&
          outbox.counts().every(({ state }) => state === "sent" || state === "failed");
        await expect
          .poll(() =>
            isSettled() ? "settled" : JSON.stringify([all.filter((one) => !isStored(one)), outbox.counts()]),
          )
          .toBe("settled");
        gateway.signal("SIGTERM");
        expect(await gateway.ended).toBe(0);
      } finally {
        await gateway.kill();
        for (const person of people) await person[Symbol.asyncDispose]();
      }

      const numbered = (texts: readonly (string | undefined)[]): Said[] =>
        texts.flatMap((text = "") => {
          const index = /answer (\d+);/.exec(text)?.[1];
          return index === undefined ? [] : [{ index: Number(index), text }];
        });
      const heard = (await Promise.all(people.map((person) => person.heard(0)))).flat();
      const mails = await writer.received(0);
      const said: Record<PlatformName, readonly Said[]> = {
        telegram: numbered(telegram.sent.map(({ text }) => text)),
        email: numbered(mails.map(({ text }) => text)),
        webhook: numbered(receiver.bodies),
        irc: numbered(heard),
      };
      const givenUp = stored().filter(({ reason }) => reason === "interrupted too often").length;
      const table = PLATFORMS.map((platform) => {
        const own = all.filter((index) => platformOf(index) === platform);
        const of = (index: number) => said[platform].filter((one) => one.index === index);
        const isMarked = ({ text }: Said): boolean => text.includes(MARK);
        return {
          platform,
          messages: own.length,
          once: own.filter((index) => of(index).length === 1).length,
          marked: own.filter((index) => of(index).length > 1 && of(index).slice(1).every(isMarked)).length,
          repeated: own.filter((index) => of(index).filter((one) => !isMarked(one)).length > 1).length,
          unanswered: own.filter((index) => of(index).length === 0).length,
        };
      });
      const trailOf = (index: number) =>
        stored()
          .filter(({ message }) => message.text.includes(`task ${index};`))
          .map(({ key, state, reason }) => ({
            ...{ index, platform: platformOf(index), state, reason },
            parts: outbox
              .ofInbox(key)
              .map(({ state: part, reason: why, part: { content } }) => ({ part, why, content })),
          }));
      const unanswered = all.filter((index) => said[platformOf(index)].every((one) => one.index !== index));
      const report = JSON.stringify(
        { table, givenUp, kills: scale.gatewayPlatformKills, unanswered: unanswered.map(trailOf) },
        undefined,
        1,
      );
      if (process.env["HERMES_TEST_LANE"] === "deep") process.stderr.write(`${report}\n`); // the deep lane exists for this report
      expect(
        table.map(({ repeated }) => repeated),
        report,
      ).toEqual([0, 0, 0, 0]);
      expect(
        table.reduce((sum, { unanswered }) => sum + unanswered, 0),
        report,
      ).toBe(givenUp);
      expect(givenUp).toBeLessThan(count / 2);
      const work = readFileSync(join(home.folder, "work.txt"), "utf8").trim().split("\n");
      expect(work.length).toBe(new Set(work).size);
    });
  });
});
