import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { type GatewayProcess, openGatewayHome } from "../support/gateway-lab.ts";
import { joinIrc, uniqueNick } from "../support/irc-person.ts";
import { scale } from "../support/scale.ts";
import { startScriptedService } from "../support/scripted-service.ts";
import { describeWith } from "../support/services.ts";

const MARK = "(This may be a repetition.)";

/** Each message has its own answer, and its work leaves one line in a file. */
function scriptFor(count: number) {
  return {
    turns: Array.from({ length: count }, (_, index) => ({
      when: `task ${index};`,
      answers: [
        { tools: [{ name: "terminal", input: { command: `echo ${index} >> work.txt` } }] },
        // An interruption leaves an answer of its own in the transcript, which the script counts.
        { text: `answer ${index};`, delay_ms: 20, chunk: 4, times: 10 },
      ],
    })),
    answers: [],
  };
}

/** A step in the handling of a message at which the gateway is killed. */
type Moment = "part-lost" | "part-delivered" | "received" | "working" | "answering";
const MOMENTS: readonly Moment[] = ["part-delivered", "received", "part-lost", "working", "answering"];

test("K7, K10, K27: however often the gateway is killed, each message is worked on and answered exactly once", async () => {
  const count = scale.gatewayMessages;
  await using service = await startScriptedService();
  await using home = await openGatewayHome(scriptFor(count), {
    platforms: { scripted: { address: service.address, allow_all_users: true } },
  });
  const write = (index: number): string =>
    service.write(`task ${index};`, {
      chat: { chatId: `chat${index}`, type: "dm" },
      sender: { id: `person${index}`, isBot: false, isProven: true },
    });
  const work = (): readonly string[] => {
    try {
      return readFileSync(join(home.folder, "work.txt"), "utf8").trim().split("\n");
    } catch {
      return [];
    }
  };
  let gateway: GatewayProcess = await home.run();
  let written = 0;
  const writeSome = (upTo: number): void => {
    for (; written < Math.min(upTo, count); written++) write(written);
  };
  try {
    for (let kill = 0; kill < scale.gatewayKills; kill++) {
      const moment = MOMENTS[kill % MOMENTS.length];
      const killed = new Promise<void>((resolve) => {
        const now = (): void => void gateway.kill().then(resolve);
        if (moment === "part-lost" || moment === "part-delivered") {
          service.onSend(() => {
            service.onSend(() => undefined);
            now();
            return moment === "part-lost" ? "lose" : "deliver-silently";
          });
        } else if (moment === "received") service.onAck(now);
        else if (moment === "working")
          void expect
            .poll(() => work().length)
            .toBeGreaterThan(kill)
            .then(now);
        else service.onAct(now);
      });
      writeSome(Math.ceil((count * (kill + 1)) / scale.gatewayKills));
      const oldest = written - 1;
      service.repeat(`in${oldest + 1}`); // the service delivers a message again, as after a lost acknowledgement
      await killed;
      gateway = await home.run();
    }
    await service.texts(count);
    await expect.poll(() => new Set(service.delivered.map(({ part }) => part.chat.chatId)).size).toBe(count);
    gateway.signal("SIGTERM");
    expect(await gateway.ended).toBe(0);
  } finally {
    await gateway.kill();
  }
  const said = service.delivered.map(({ part, text }) => {
    const isGivenUp = text.includes("interrupted 3 times in a row"); // by three kills that all hit this turn
    return isGivenUp ? `${part.chat.chatId}: given up` : `${part.chat.chatId}: ${text}`;
  });
  const givenUp = new Set(said.filter((line) => line.endsWith(": given up")));
  const expected = Array.from({ length: count }, (_, index) =>
    givenUp.has(`chat${index}: given up`) ? `chat${index}: given up` : `chat${index}: answer ${index};`,
  );
  expect(said.toSorted()).toEqual(expected.toSorted());
  expect(givenUp.size).toBeLessThan(count / 2);
  expect(work().length).toBe(new Set(work()).size); // nothing was done twice
});

describeWith("irc", "the gateway on IRC", (server) => {
  test("K8: on a platform that cannot tell whether a text has arrived, a repetition after a kill is marked", async () => {
    const nick = uniqueNick("bot");
    await using anna = await joinIrc(server, uniqueNick("anna"));
    await using home = await openGatewayHome(
      { answers: [{ text: "one line" }] },
      {
        platforms: {
          irc: {
            server: server.host,
            port: server.port,
            use_tls: false,
            nickname: nick,
            trust_nicknames: true,
            allowed_users: [anna.nick],
          },
        },
      },
    );
    const first = await home.run();
    await home.connected("irc");
    anna.say(nick, "hello");
    expect(await anna.heard(1)).toEqual([`${nick}: one line`]);
    await first.kill();
    // What an earlier gateway was sending when it died: its row says so.
    await home.interruptDelivery();
    await using _second = await home.run();
    expect(await anna.heard(2)).toEqual([`${nick}: one line`, `${nick}: ${MARK} one line`]);
  });
});
