import { existsSync } from "node:fs";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { openGatewayHome } from "../support/gateway-lab.ts";
import { joinIrc, uniqueNick } from "../support/irc-person.ts";
import { scale } from "../support/scale.ts";
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

  test("C2: a person writes, a tool is used, the answer arrives, and the follow-up stays in the session", async () => {
    await using anna = await joinIrc(server, uniqueNick("anna"));
    await using ben = await joinIrc(server, uniqueNick("ben"));
    const nick = uniqueNick("bot");
    await using home = await openGatewayHome(
      TOOL_SCRIPT,
      settings(nick, { allowed_users: [anna.nick, ben.nick] }),
    );
    await using gateway = await home.run();
    await home.connected("irc");
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

  test("D2, D4: a stranger is refused, is answered after pairing, and is refused again as soon as the pairing is revoked", async () => {
    await using anna = await joinIrc(server, uniqueNick("anna"));
    const nick = uniqueNick("bot");
    await using home = await openGatewayHome({ answers: [{ text: "welcome" }] }, settings(nick));
    await using _gateway = await home.run();
    await home.connected("irc");
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

  test("D7, K25: a call that needs approval is asked about in the chat, and runs after a yes", async () => {
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

  test("K10: a message that the service delivers three times runs one turn", async () => {
    await using lab = await open({ answers: [{ text: "once" }, { text: "twice" }] });
    await using _gateway = await lab.home.run();
    const id = lab.service.write("hello");
    lab.service.repeat(id);
    await lab.service.texts(1);
    lab.service.repeat(id);
    lab.service.write("/whoami");
    const texts = await lab.service.texts(2);
    expect(texts).toEqual(["once", expect.stringContaining("You are anna")]);
  });

  test("K25: commands are answered while a turn runs, and /stop ends it", async () => {
    await using lab = await open({
      turns: [
        {
          when: "a long time",
          answers: [{ tools: [{ name: "terminal", input: { command: "sleep 600" } }] }],
        },
        { when: "and now?", answers: [{ text: "the next answer" }] },
      ],
    });
    await using _gateway = await lab.home.run();
    lab.service.write("work for a long time");
    await expect.poll(() => lab.service.actions.length).toBeGreaterThan(0);
    lab.service.write("/status");
    expect(await lab.service.texts(1)).toEqual([expect.stringContaining("A turn is running")]);
    lab.service.write("/stop");
    const texts = await lab.service.texts(3);
    expect(texts.slice(1).toSorted()).toEqual([
      "Stopping.",
      expect.stringContaining("The turn was stopped."),
    ]);
    lab.service.write("and now?");
    expect((await lab.service.texts(4)).at(-1)).toBe("the next answer");
  });

  test("K26, K27: messages that arrive while a turn runs are acknowledged once, and are one turn afterwards", async () => {
    await using lab = await open({
      turns: [{ when: "the last one", answers: [{ text: "all of them" }] }],
      answers: [{ text: "the first answer", chunk: 1, delay_ms: 50 }],
    });
    await using _gateway = await lab.home.run();
    lab.service.write("begin");
    await expect.poll(() => lab.service.actions.length).toBeGreaterThan(0);
    for (let index = 1; index < scale.floodMessages; index++) lab.service.write(`message ${index}`);
    lab.service.write("the last one");
    await expect.poll(() => lab.service.unacknowledged).toBe(0);
    await expect.poll(() => lab.service.delivered.at(-1)?.text).toBe("all of them");
    const answers = lab.service.delivered.map(({ text }) => text);
    expect(answers.filter((text) => text.includes("still working")).length).toBeLessThanOrEqual(1);
  });

  test("K37: a platform that cannot be reached does not stop the others, and status shows the state of each", async () => {
    await using lab = await open({ answers: [{ text: "still here" }] });
    await lab.home.configure({
      platforms: {
        scripted: { address: lab.service.address, allowed_users: ["anna"] },
        irc: { server: "127.0.0.1", port: 1, use_tls: false, nickname: "bot" },
      },
    });
    await using _gateway = await lab.home.run();
    lab.service.write("hello");
    expect(await lab.service.texts(1)).toEqual(["still here"]);
    await expect
      .poll(async () => (await lab.home.hermes(["gateway", "status"])).stdout)
      .toMatch(/irc +retrying +never +.*ECONNREFUSED/);
    expect((await lab.home.hermes(["gateway", "status"])).stdout).toMatch(
      /scripted +connected +less than a minute ago/,
    );
  });

  test("E4: an answer grows while it is written, a call ends its message, and the last edit is the whole answer", async () => {
    await using lab = await open(
      {
        answers: [
          {
            text: "Let me count the lines of that file.",
            tools: [{ name: "terminal", input: { command: "seq 3 | wc -l" } }],
          },
          { text: `There are three. ${"That is all there is to say. ".repeat(8)}`, chunk: 4, delay_ms: 30 },
        ],
      },
      {
        streaming: { enabled: true, edit_interval: 0.2 },
        display: { runtime_footer: { enabled: true, fields: ["cwd"] } },
      },
    );
    await using _gateway = await lab.home.run();
    lab.service.write("how many lines?");
    await expect.poll(() => lab.service.delivered.at(-1)?.text).toMatch(/say\.\n\n~$/);
    expect(lab.service.delivered.map(({ text }) => text)).toEqual([
      "Let me count the lines of that file.",
      `There are three. ${"That is all there is to say. ".repeat(8).trim()}\n\n~`,
    ]);
    const edits = lab.service.actions.filter(({ type }) => type === "edit");
    expect(edits.length).toBeGreaterThan(1);
    const { stdout } = await lab.home.hermes(["gateway", "messages", "1"]);
    expect(stdout).toMatch(/→ Let me count[^\n]*\[sent[\s\S]*→ There are three[^\n]*\[sent/);
  });

  test("E4: a gateway that is killed while an answer grows marks what was shown, and answers in a new message", async () => {
    await using lab = await open(
      { answers: [{ text: "word ".repeat(400), chunk: 5, delay_ms: 20 }, { text: "The end." }] },
      { streaming: { enabled: true, edit_interval: 0.2 } },
    );
    {
      await using gateway = await lab.home.run();
      lab.service.write("write a lot");
      await expect
        .poll(() => lab.service.actions.filter(({ type }) => type === "edit").length)
        .toBeGreaterThan(2);
      await gateway.kill();
    }
    await using _next = await lab.home.run();
    await expect.poll(() => lab.service.delivered.length).toBe(2);
    await expect.poll(() => lab.service.delivered[0]?.text).toMatch(/ \[…\]$/);
  });

  test("E1: an answer of very many messages is cut, and the whole text arrives as a file", async () => {
    const text = "A sentence of many. ".repeat(4_000).trim();
    await using lab = await open({ answers: [{ text }] });
    await using _gateway = await lab.home.run();
    lab.service.write("tell me everything");
    const texts = await lab.service.texts(21);
    expect(texts[19]).toMatch(/^\[… \d+ more characters\]$/);
    const { content } = lab.service.delivered[20]?.part ?? {};
    expect(content?.type === "file" && (await readFile(content.path, "utf8"))).toBe(text);
  });

  test("E14: a file of the project is sent once, under its own name, and one of the home is refused", async () => {
    await using lab = await open({
      answers: [
        { tools: [{ name: "terminal", input: { command: "echo 1,2,3 > 'my chart.csv'" } }] },
        { tools: [{ name: "send_file", input: { path: "my chart.csv", caption: "The numbers" } }] },
        { tools: [{ name: "send_file", input: { path: "home/config.yaml" } }] },
        { text: "Here they are." },
      ],
    });
    await using _gateway = await lab.home.run();
    lab.service.write("send me the numbers");
    expect(await lab.service.texts(2)).toEqual(["[file my_chart.csv]", "Here they are."]);
    const { content } = lab.service.delivered[0]?.part ?? {};
    if (content?.type !== "file") throw new Error("no file arrived");
    expect(content).toMatchObject({ mediaType: "text/csv", caption: "The numbers" });
    expect(await readFile(content.path, "utf8")).toBe("1,2,3\n");
    const trail = await lab.home.hermes(["gateway", "messages", "1"]);
    expect(trail.stdout).toMatch(/→ file my_chart.csv \[sent/);
    const [session] = (await lab.home.hermes(["sessions", "list", "--json"])).json<{ id: string }[]>();
    const shown = await lab.home.hermes(["sessions", "show", session?.id ?? ""]);
    expect(shown.stdout).toMatch(/home of Hermes, from which files are not sent/);
  });

  test("K22: a file with a hostile name is stored under a safe name, an archive is not unpacked, a picture is shown", async () => {
    await using lab = await open({ answers: [{ text: "I see." }] });
    await using _gateway = await lab.home.run();
    const pixel =
      "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==";
    lab.service.write("look", {
      attachments: [
        { name: "../../../.ssh/authorized_keys\u202egpj.exe", mediaType: "text/plain", base64: "aGk=" },
        {
          name: "bomb.zip",
          mediaType: "application/zip",
          base64: Buffer.from("PK\x03\x04").toString("base64"),
        },
        { name: "pixel.png", mediaType: "image/png", base64: pixel },
        { name: "film.mp4", mediaType: "video/mp4", problem: "it is larger than 20 bytes" },
      ],
    });
    expect(await lab.service.texts(1)).toEqual(["I see."]);
    const [session] = (await lab.home.hermes(["sessions", "list", "--json"])).json<{ id: string }[]>();
    const { stdout } = await lab.home.hermes(["sessions", "show", session?.id ?? ""]);
    expect(stdout).toMatch(/received as \S+\/cache\/inbound\/\w+\/0-authorized_keys_gpj\.exe\]/);
    expect(stdout).toMatch(/bomb\.zip \(application\/zip\) was received as \S+1-bomb\.zip\]/);
    expect(stdout).toContain("[The file film.mp4 could not be received: it is larger than 20 bytes]");
    expect(stdout).not.toContain("pixel.png");
  });

  test("C9, C10: an idle chat gets a new session with a notice, and its people can return to the earlier one", async () => {
    await using lab = await open(
      {
        turns: [
          { when: "the number is 7", answers: [{ text: "Noted." }, { text: "still the first session" }] },
          { when: "good morning", answers: [{ text: "a new session" }] },
        ],
      },
      { session_reset: { mode: "idle", idle_minutes: 60 } },
    );
    await using _gateway = await lab.home.run();
    lab.service.write("the number is 7");
    await lab.service.texts(1);
    await lab.home.age(2 * 3_600_000);
    lab.service.write("good morning");
    expect((await lab.service.texts(3)).toSorted()).toEqual([
      "Noted.",
      "Nothing was written here for an hour, so this is a new session. /sessions lists the earlier ones.",
      "a new session",
    ]);
    lab.service.write("/sessions");
    expect((await lab.service.texts(4)).at(-1)).toMatch(
      /^1\. good morning \(.*\), the current one\n2\. the number is 7 \(.*\)$/,
    );
    lab.service.write("/resume 2");
    expect((await lab.service.texts(5)).at(-1)).toBe("Your next message continues: the number is 7");
    lab.service.write("and?");
    expect((await lab.service.texts(6)).at(-1)).toBe("still the first session");
  });

  test("D9: people who are not admins have only the tools that the settings name", async () => {
    await using lab = await open({
      turns: [
        {
          when: "I am ben",
          answers: [{ tools: [{ name: "terminal", input: { command: "touch by-ben" } }] }, { text: "one" }],
        },
        {
          when: "I am anna",
          answers: [{ tools: [{ name: "terminal", input: { command: "touch by-anna" } }] }, { text: "two" }],
        },
      ],
    });
    await lab.home.configure({
      platforms: {
        scripted: {
          address: lab.service.address,
          allowed_users: ["anna", "ben"],
          allow_admin_from: ["anna"],
          user_toolsets: ["todo"],
        },
      },
    });
    await using _gateway = await lab.home.run();
    const ben = { id: "ben", name: "Ben", isBot: false, isProven: true };
    lab.service.write("I am ben", { chat: { chatId: "ben", type: "dm" }, sender: ben });
    expect(await lab.service.texts(1, "ben")).toEqual(["one"]);
    lab.service.write("I am anna");
    expect(await lab.service.texts(1, "anna")).toEqual(["two"]);
    expect(existsSync(join(lab.home.folder, "by-anna"))).toBe(true);
    expect(existsSync(join(lab.home.folder, "by-ben"))).toBe(false);
    lab.service.write("/status", { chat: { chatId: "ben", type: "dm" }, sender: ben });
    expect((await lab.service.texts(2, "ben")).at(-1)).toContain("You may not use /status here");
  });

  test("B9: /busy decides for one chat what a message does while a turn runs, and /queue makes an exception", async () => {
    await using lab = await open({
      turns: [
        {
          when: "a long time",
          answers: [{ tools: [{ name: "terminal", input: { command: "sleep 600" } }] }],
        },
        { when: "and now?", answers: [{ text: "the next answer" }] },
        { when: "later", answers: [{ text: "the last answer" }] },
      ],
    });
    await using _gateway = await lab.home.run();
    lab.service.write("/busy interrupt");
    expect(await lab.service.texts(1)).toEqual(["A message that arrives while a turn runs stops that turn."]);
    lab.service.write("work for a long time");
    await expect.poll(() => lab.service.actions.length).toBeGreaterThan(0);
    lab.service.write("/queue later");
    await expect.poll(() => lab.service.unacknowledged).toBe(0);
    lab.service.write("/status");
    await expect.poll(() => lab.service.delivered.at(-1)?.text).toMatch(/A turn is running/);
    lab.service.write("and now?");
    await expect.poll(() => lab.service.delivered.at(-1)?.text).toMatch(/answer$/);
    expect(lab.service.delivered.map(({ text }) => text)).toContainEqual(
      expect.stringContaining("The turn was stopped."),
    );
  });

  test("E15, F8: hermes send reaches a chat by name, once, and the next turn contains the message; without a gateway it fails", async () => {
    await using lab = await open({
      turns: [{ when: "which build", answers: [{ text: "The nightly one." }] }],
    });
    const send = (...args: string[]) => lab.home.hermes(["send", ...args]);
    const refused = await send("--to", "scripted:Anna", "hello");
    expect(refused.exitCode).not.toBe(0);
    expect(refused.stderr).toMatch(/No gateway of this profile runs, so nothing was sent/);
    await using gateway = await lab.home.run();
    lab.service.write("/whoami");
    await lab.service.texts(1);
    expect((await send("--list")).stdout).toMatch(/scripted:anna +Anna +dm/);
    const sent = await send(
      "--to",
      "scripted:anna,scripted:#team",
      "--json",
      "--name",
      "nightly",
      "The build",
      "is green",
    );
    expect(sent.json<object[]>()).toMatchObject([
      { target: "scripted:anna", state: "sent", messageIds: ["m2"] },
      { target: "scripted:#team", state: "sent" },
    ]);
    await send("--to", "scripted:anna", "--name", "nightly", "The build is green");
    expect((await lab.service.texts(2, "anna")).slice(1)).toEqual(["The build is green"]);
    expect((await send("--to", "", "x")).stderr).toContain("`--to` names no chat");
    expect((await send("--to", "scripted:anna", "--file", lab.home.folder, "x")).stderr).toMatch(
      / is not a file\.$/m,
    );
    const tooLong = await send("--to", "scripted:anna", "a".repeat(60_000));
    expect(tooLong.stderr).toMatch(/would be 20 messages or more[\s\S]*as a file/);
    expect((await send("--to", "teams", "x")).stderr).toMatch(/no platform or alias teams/);
    lab.service.write("which build?");
    expect((await lab.service.texts(3, "anna")).at(-1)).toBe("The nightly one.");
    const [session] = (await lab.home.hermes(["sessions", "list", "--json"])).json<{ id: string }[]>();
    const shown = await lab.home.hermes(["sessions", "show", session?.id ?? ""]);
    expect(shown.stdout).toMatch(/Sent here by Hermes itself: The build is green\n.*which build/);
    lab.service.onSend(() => ({ certainty: "not-sent", reason: "the chat is gone", isFinal: true }));
    const failed = await send("--to", "scripted:anna", "x");
    expect(failed.exitCode).toBe(1);
    expect(failed.stderr).toMatch(/Not sent to scripted:anna: the chat is gone\.$/m);
    gateway.signal("SIGTERM");
    await gateway.ended;
    expect((await send("--to", "scripted:anna", "--queue", "later")).stderr).toContain(
      "the next gateway sends it",
    );
  });

  test("F1, F2: a hook that was trusted sees what happens in chats", async () => {
    await using lab = await open({
      answers: [{ tools: [{ name: "terminal", input: { command: "echo hi" } }] }, { text: "Done." }],
    });
    const folder = join(lab.home.path, "hooks", "watch");
    const seen = join(lab.home.folder, "seen");
    await mkdir(folder, { recursive: true });
    await writeFile(
      join(folder, "hook.yaml"),
      `description: writes a diary\nevents: ["gateway:startup", "session:*", "agent:*", "command:whoami"]\ncommand: cat >> '${seen}'\n`,
    );
    expect((await lab.home.hermes(["gateway", "hooks"])).stdout).toMatch(
      /watch +not trusted +gateway:startup/,
    );
    await lab.home.hermes(["gateway", "hooks", "watch", "--trust"]);
    await using gateway = await lab.home.run();
    lab.service.write("go");
    await lab.service.texts(1);
    lab.service.write("/whoami");
    await lab.service.texts(2);
    gateway.signal("SIGTERM");
    await gateway.ended;
    const read = async () =>
      (await readFile(seen, "utf8"))
        .trim()
        .split("\n")
        .map((line) => JSON.parse(line) as { event: string; text?: string; tool?: string });
    await expect.poll(async () => (await read()).length).toBe(6);
    expect(await read()).toMatchObject([
      { event: "gateway:startup" },
      { event: "session:start", platform: "scripted", chatId: "anna", userId: "anna" },
      { event: "agent:start", text: "go" },
      { event: "agent:step", tool: "terminal", outcome: "ok" },
      { event: "agent:end", outcome: "completed", text: "Done." },
      { event: "command:whoami", userId: "anna" },
    ]);
  });

  test("C14: a platform has the environment that its own settings name", async () => {
    await using lab = await open({
      answers: [{ tools: [{ name: "terminal", input: { command: "touch here" } }] }, { text: "Done." }],
    });
    await lab.home.configure({
      platforms: {
        scripted: { address: lab.service.address, allowed_users: ["anna"], terminal: { backend: "ssh" } },
      },
    });
    await using _gateway = await lab.home.run();
    lab.service.write("go");
    expect(await lab.service.texts(1)).toEqual(["Done."]);
    const [session] = (await lab.home.hermes(["sessions", "list", "--json"])).json<{ id: string }[]>();
    const shown = await lab.home.hermes(["sessions", "show", session?.id ?? ""]);
    expect(shown.stdout).toMatch(/ssh_host/);
    expect(existsSync(join(lab.home.folder, "here"))).toBe(false);
  });

  test("D7: in a shared session only an admin or the person who asked can approve a call", async () => {
    await using lab = await open({
      answers: [
        { tools: [{ name: "terminal", input: { command: "rm -rf ./old-things" } }] },
        { text: "It is gone." },
      ],
    });
    await lab.home.configure({
      platforms: {
        scripted: {
          address: lab.service.address,
          allowed_users: ["anna", "ben"],
          group_allow_admin_from: ["anna"],
        },
      },
    });
    await using _gateway = await lab.home.run();
    const chat = { chatId: "team", type: "group", threadId: "7" } as const;
    const ben = { id: "ben", name: "Ben", isBot: false, isProven: true };
    lab.service.write("clean up", { chat });
    expect(await lab.service.texts(1)).toEqual([expect.stringMatching(/^May I run this/)]);
    lab.service.write("/approve", { chat, sender: ben });
    expect((await lab.service.texts(2)).at(-1)).toBe(
      "Only an admin, or the person whose message led to it, may answer that.",
    );
    lab.service.write("/approve", { chat });
    expect((await lab.service.texts(4)).slice(2).toSorted()).toEqual(["Approved.", "It is gone."]);
  });
});
