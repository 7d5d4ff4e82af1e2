import { describe, expect, test } from "vitest";
import { type GatewayHome, openGatewayHome } from "../support/gateway-lab.ts";
import { joinIrc, uniqueNick } from "../support/irc-person.ts";
import { startScriptedService } from "../support/scripted-service.ts";
import { describeWith } from "../support/services.ts";

const TOOL_SCRIPT = {
  turns: [
    {
      when: "how many lines",
      answers: [
        { tools: [{ name: "terminal", input: { command: "seq 3 | wc -l" } }] },
        { text: "It has three lines." },
      ],
    },
    { when: "and twice that", answers: [{ text: "That makes six." }] },
    { when: "who am I", answers: [{ text: "A stranger to the other session." }] },
  ],
  answers: [],
};

describeWith("irc", "the gateway on IRC", (server) => {
  const settings = (nick: string, more: object = {}) => ({
    platforms: {
      irc: {
        server: server.host,
        port: server.port,
        use_tls: false,
        nickname: nick,
        trust_nicknames: true,
        ...more,
      },
    },
  });

  test("a person writes, a tool is used, the answer arrives, and the follow-up stays in the session", async () => {
    await using anna = await joinIrc(server, uniqueNick("anna"));
    await using ben = await joinIrc(server, uniqueNick("ben"));
    const nick = uniqueNick("bot");
    await using home = await openGatewayHome(
      TOOL_SCRIPT,
      settings(nick, { allowed_users: [anna.nick, ben.nick] }),
    );
    await using gateway = await home.run();
    await connected(home, "irc");
    anna.say(nick, "how many lines does it have?");
    expect(await anna.heard(1)).toEqual([`${nick}: It has three lines.`]);
    anna.say(nick, "and twice that?");
    expect(await anna.heard(2)).toContain(`${nick}: That makes six.`);
    ben.say(nick, "who am I?");
    expect(await ben.heard(1)).toEqual([`${nick}: A stranger to the other session.`]);
    gateway.signal("SIGTERM");
    expect(await gateway.ended).toBe(0);

    const sessions = (await home.hermes(["sessions", "list", "--json"])).json<
      { id: string; source: string }[]
    >();
    expect(sessions.map(({ source }) => source)).toEqual(["irc", "irc"]);
    const messages = (await home.hermes(["gateway", "messages", "--json"])).json<MessageJson[]>();
    expect(messages.map(({ state }) => state)).toEqual(["done", "done", "done"]);
    expect(messages[0]?.turn?.sessionId).toBe(messages[1]?.turn?.sessionId);
    expect(messages[2]?.turn?.sessionId).not.toBe(messages[0]?.turn?.sessionId);
    const trail = await home.hermes(["gateway", "messages", "1"]);
    expect(trail.stdout).toMatch(
      /text +how many lines does it have\?[\s\S]*state +done[\s\S]*→ It has three lines\. \[sent/,
    );
  });

  test("a stranger is refused, can pair, is answered then, and is shut out again at once", async () => {
    await using anna = await joinIrc(server, uniqueNick("anna"));
    const nick = uniqueNick("bot");
    await using home = await openGatewayHome({ answers: [{ text: "welcome" }] }, settings(nick));
    await using _gateway = await home.run();
    await connected(home, "irc");
    anna.say(nick, "let me in");
    const [greeting = "", how = ""] = await anna.heard(2);
    const code = /: (?<code>[A-Z2-9]{4} [A-Z2-9]{4})$/.exec(greeting)?.groups?.["code"] ?? "";
    expect(how).toContain(`hermes pairing approve irc ${code.replace(" ", "")}`);
    expect((await home.hermes(["pairing", "list"])).stdout).toMatch(new RegExp(`irc +${anna.nick} +asked`));
    expect((await home.hermes(["pairing", "approve", "irc", "AAAA2222"])).stderr).toContain("has expired");
    await home.hermes(["pairing", "approve", "irc", ...code.split(" ")]);
    anna.say(nick, "hello again");
    expect(await anna.heard(3)).toContain(`${nick}: welcome`);
    await home.hermes(["pairing", "revoke", "irc", anna.nick]);
    anna.say(nick, "and now?");
    await expect
      .poll(
        async () =>
          (await home.hermes(["gateway", "messages", "--json"])).json<MessageJson[]>().at(-1)?.state,
      )
      .toBe("refused");
    const stored = await home.hermes(["gateway", "messages", "1"]);
    expect(stored.stdout).toContain("→ [a secret] [sent");
    expect(stored.stdout).not.toContain(code);
  });
});

interface MessageJson {
  readonly state: string;
  readonly turn: { readonly sessionId: string } | null;
}

async function connected(home: GatewayHome, name: string): Promise<void> {
  await expect
    .poll(async () => {
      const { platforms } = (await home.hermes(["gateway", "status", "--json"])).json<{
        platforms: { name: string; state: string }[];
      }>();
      return platforms.find((one) => one.name === name)?.state;
    })
    .toBe("connected");
}

describe("the gateway with a scripted service", () => {
  const open = async (script: Parameters<typeof openGatewayHome>[0], more: object = {}) => {
    const service = await startScriptedService();
    const home = await openGatewayHome(script, {
      platforms: { scripted: { address: service.address, allowed_users: ["anna"] } },
      ...more,
    });
    return {
      service,
      home,
      async [Symbol.asyncDispose]() {
        await service[Symbol.asyncDispose]();
        await home[Symbol.asyncDispose]();
      },
    };
  };

  test("a call that needs approval is asked about in the chat, and runs after a yes", async () => {
    await using lab = await open({
      answers: [
        { tools: [{ name: "terminal", input: { command: "rm -rf ./old-things" } }] },
        { text: "It is gone." },
      ],
    });
    await using _gateway = await lab.home.run();
    lab.service.write("clean up");
    const [question = ""] = await lab.service.texts(1);
    expect(question).toMatch(/^May I run this\?[\s\S]*rm -rf \.\/old-things[\s\S]*Answer yes/);
    lab.service.write("maybe later");
    lab.service.write("yes");
    const texts = await lab.service.texts(4);
    expect(texts.slice(1)).toEqual(expect.arrayContaining(["Approved.", "It is gone."]));
  });

  test("a fresh home without a platform runs the dispatcher and says in four lines what to do next", async () => {
    await using home = await openGatewayHome({ answers: [] }, {});
    await using gateway = await home.run();
    await expect.poll(() => gateway.output().trim().split("\n")).toHaveLength(4);
    expect(gateway.output()).toMatch(/without a messaging platform, and with dispatcher/);
    const daemon = await home.hermes(["kanban", "daemon"]);
    expect(daemon).toMatchObject({
      exitCode: 0,
      stderr: expect.stringContaining("dispatches the boards already"),
    });
    const second = home.start();
    expect(await second.ended).toBe(78);
    expect(second.output()).toContain(`as process ${gateway.pid}`);
  });
});
