import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { stringify } from "yaml";
import { openGatewayDatabase } from "../../src/gateway/store/gateway-database.ts";
import { systemClock } from "../../src/lib/time/clock.ts";
import { openGatewayHome } from "../support/gateway-lab.ts";
import { startScriptedService } from "../support/scripted-service.ts";

async function open(script: Parameters<typeof openGatewayHome>[0], more: object = {}) {
  const service = await startScriptedService();
  const home = await openGatewayHome(script, {
    platforms: { scripted: { address: service.address, allowed_users: ["anna"] } },
    ...more,
  });
  return {
    service,
    home,
    async status() {
      return (await home.hermes(["gateway", "status", "--json"])).json<{
        isRunning: boolean;
        pid: number | null;
        desired: string;
        phase: string;
        exitReason?: string;
      }>();
    },
    async [Symbol.asyncDispose]() {
      await service[Symbol.asyncDispose]();
      await home[Symbol.asyncDispose]();
    },
  };
}

test("A18: a fresh home without a platform serves the API, runs the dispatcher and says in four lines what to do next", async () => {
  await using home = await openGatewayHome({ answers: [] }, { api_server: { port: 0 } });
  await using gateway = await home.run();
  await expect.poll(() => gateway.output().trim().split("\n")).toHaveLength(4);
  expect(gateway.output()).toMatch(
    /without a messaging platform, and with the API at http:\/\/127\.0\.0\.1:\d+\/v1, dispatcher/,
  );
  expect(await home.hermes(["kanban", "daemon"])).toMatchObject({
    exitCode: 0,
    stderr: expect.stringContaining("dispatches the boards already"),
  });
});

test("A4, K1: a second gateway of a profile ends with 78 and names the first, which keeps running", async () => {
  await using lab = await open({ answers: [{ text: "still here" }] });
  await using first = await lab.home.run();
  await using second = lab.home.start();
  expect(await second.ended).toBe(78);
  expect(second.output()).toContain(`as process ${first.pid}`);
  expect((await lab.home.hermes(["gateway", "start"])).exitCode).toBe(78);
  lab.service.write("are you there?");
  expect(await lab.service.texts(1)).toEqual(["still here"]);
});

test("A6, K2: a gateway ends with 0 when it is stopped, and with 75 when its supervisor must start it again", async () => {
  await using lab = await open({ answers: [] });
  for (const [signal, code] of [
    ["SIGTERM", 0],
    ["SIGINT", 0],
    ["SIGUSR1", 75],
  ] as const) {
    await using gateway = await lab.home.run();
    gateway.signal(signal);
    expect([signal, await gateway.ended]).toEqual([signal, code]);
  }
});

test("A7, K6: start, stop and restart change what is wanted; a kill does not", async () => {
  await using lab = await open({ answers: [{ text: "hello" }] });
  const started = await lab.home.hermes(["gateway", "start"]);
  expect(started.stderr).toMatch(/runs as process \d+/);
  const { pid } = await lab.status();
  lab.service.write("hi");
  expect(await lab.service.texts(1)).toEqual(["hello"]);
  expect((await lab.home.hermes(["gateway", "restart"])).stderr).toMatch(/runs as process \d+/);
  const again = await lab.status();
  expect(again).toMatchObject({ isRunning: true, desired: "running" });
  expect(again.pid).not.toBe(pid);
  process.kill(again.pid ?? 0, "SIGKILL");
  await expect.poll(async () => (await lab.status()).isRunning).toBe(false);
  expect(await lab.status()).toMatchObject({ desired: "running", phase: "running" });
  expect((await lab.home.hermes(["gateway", "start"])).stderr).toMatch(/runs as process \d+/);
  expect((await lab.home.hermes(["gateway", "stop"])).exitCode).toBe(0);
  expect(await lab.status()).toMatchObject({
    isRunning: false,
    desired: "stopped",
    phase: "stopped",
    exitReason: "stop",
  });
  expect((await lab.home.hermes(["gateway", "stop"])).exitCode).toBe(1);
});

test("A7: if a gateway was never started or was killed, status says how to start it", async () => {
  await using lab = await open({ answers: [] });
  const status = async () => (await lab.home.hermes(["gateway", "status"])).stdout;
  expect(await status()).toMatch(/wanted +it has not been started yet; start it with `hermes gateway start`/);
  await (await lab.home.run()).kill();
  expect(await status()).toMatch(/wanted +running, but it has ended; start it with `hermes gateway start`/);
  expect(await status()).toMatch(/ended +unexpectedly; the last sign of life was at \d/);
});

test("A7: a gateway whose home was removed ends, instead of writing to removed files", async () => {
  await using lab = await open({ answers: [] });
  await using gateway = await lab.home.run();
  await lab.home.connected("scripted"); // while it starts, it writes files into the folder that is removed
  await rm(lab.home.path, { recursive: true });
  expect(await gateway.ended).toBe(0);
  expect(gateway.output()).toContain("the home was removed");
});

test("K4: after a long time without a gateway a turn is not continued by itself, and later messages are not mixed with it", async () => {
  await using lab = await open(
    {
      turns: [
        { when: "work", answers: [{ tools: [{ name: "terminal", input: { command: "sleep 600" } }] }] },
        { when: "hello", answers: [{ text: "hello again", times: 2 }] },
      ],
    },
    { gateway: { drain_timeout_seconds: 0, continue_within_seconds: 0 } },
  );
  const first = await lab.home.run();
  lab.service.write("work");
  await expect.poll(() => lab.service.actions.length).toBeGreaterThan(0);
  await first.kill();
  const second = await lab.home.run();
  expect(await lab.service.texts(1)).toEqual([
    expect.stringMatching(/^I was interrupted while I worked on this.*Write "continue"/),
  ]);
  lab.service.write("hello");
  expect((await lab.service.texts(2)).at(-1)).toBe("hello again");
  await second.kill();
  await using _third = await lab.home.run();
  lab.service.write("hello");
  expect((await lab.service.texts(3)).slice(1)).toEqual(["hello again", "hello again"]);
});

test("K5: a gateway that a supervisor started is not started again by `gateway restart`: it ends with 75, and the command says how to start it", async () => {
  await using lab = await open({ answers: [] });
  const gateway = await lab.home.run();
  const { stderr } = await lab.home.hermes(["gateway", "restart"]);
  expect(stderr).toMatch(/ended with exit code 75[\s\S]*`hermes gateway start`/);
  expect(await gateway.ended).toBe(75);
  expect((await lab.status()).isRunning).toBe(false);
});

test("K24: an environment variable that hides a setting of the gateway is named together with what it hides", async () => {
  await using lab = await open({ answers: [] }, { gateway: { allowed_users: ["anna"] } });
  const env = { GATEWAY_ALLOWED_USERS: "ben" };
  const { stdout } = await lab.home.hermes(["config", "explain", "gateway.allowed_users"], env);
  expect(stdout).toContain("GATEWAY_ALLOWED_USERS");
  expect(stdout).toMatch(/ben[\s\S]*anna|anna[\s\S]*ben/);
});

test("K38: gateways of two profiles run side by side, each with its own settings, people and sessions", async () => {
  await using lab = await open({ answers: [{ text: "from the first" }] });
  await using other = await startScriptedService();
  await lab.home.hermes(["profile", "create", "second"]);
  const own = join(lab.home.path, "profiles", "second");
  const script = join(own, "script.json");
  await writeFile(script, JSON.stringify({ answers: [{ text: "from the second" }] }));
  const platforms = { scripted: { address: other.address, allowed_users: ["ben"] } };
  await writeFile(
    join(own, "config.yaml"),
    stringify({ model: { provider: "scripted", default: script }, platforms }),
  );
  await using _first = await lab.home.run();
  await using second = lab.home.start("second");
  await second.ready();
  const anna = { sender: { id: "anna", isBot: false, isProven: true } };
  const ben = { sender: { id: "ben", isBot: false, isProven: true } };
  for (const service of [lab.service, other])
    for (const person of [anna, ben])
      service.write("hello", { ...person, chat: { chatId: person.sender.id, type: "dm" } });
  expect(await lab.service.texts(1, "anna")).toEqual(["from the first"]);
  expect(await other.texts(1, "ben")).toEqual(["from the second"]);
  expect(await lab.service.texts(1, "ben")).toEqual([expect.stringContaining("I do not know you")]);
  expect(await other.texts(1, "anna")).toEqual([expect.stringContaining("-p second pairing approve")]);
});

test("A7: status shows that a gateway hangs", async () => {
  await using lab = await open({ answers: [] });
  await using gateway = await lab.home.run();
  await lab.home.connected("scripted");
  const never = new AbortController().signal;
  using database = await openGatewayDatabase(join(lab.home.path, "gateway.sqlite"), systemClock, never);
  const age = database.prepare("update lease set expires_at = expires_at - 120000");
  // Suspended while this transaction has the lock, so that it is never suspended while it has the lock itself.
  await database.write(() => {
    gateway.signal("SIGSTOP");
    age.run();
  }, never);
  expect((await lab.home.hermes(["gateway", "status"])).stdout).toMatch(
    new RegExp(`gateway +running, process ${gateway.pid}.*; no sign of life for 2 minutes`),
  );
});

test("A8, A15: the log says why the gateway ends and how much memory it used", async () => {
  await using lab = await open({ answers: [] });
  await using gateway = await lab.home.run();
  gateway.signal("SIGTERM");
  expect(await gateway.ended).toBe(0);
  const { stdout } = await lab.home.hermes(["logs", "--lines", "100"]);
  expect(stdout).toMatch(/the gateway is asked to end.*Terminated/);
  expect(stdout).toContain(String(process.pid)); // its parent
  expect(stdout).toMatch(/memory.*start[\s\S]*memory.*end/);
});

test("A9: a gateway that is stopped lets its turn end, and the answer arrives", async () => {
  await using lab = await open({ answers: [{ text: "a slow answer", chunk: 1, delay_ms: 60 }] });
  await using gateway = await lab.home.run();
  lab.service.write("take your time");
  await expect.poll(() => lab.service.actions.length).toBeGreaterThan(0);
  gateway.signal("SIGTERM");
  expect(await gateway.ended).toBe(0);
  expect(await lab.service.texts(1)).toEqual(["a slow answer"]);
});

test("A9, A11, K27: the next gateway continues a turn that a stop interrupted, and answers what was written meanwhile", async () => {
  await using lab = await open(
    {
      turns: [
        {
          when: "a long time",
          answers: [{ tools: [{ name: "terminal", input: { command: "sleep 600" } }] }],
        },
        { when: "gateway was restarted", answers: [{ text: "continued and done" }] },
        { when: "are you back", answers: [{ text: "and this" }] },
      ],
    },
    { gateway: { drain_timeout_seconds: 0 } },
  );
  {
    await using gateway = await lab.home.run();
    lab.service.write("work for a long time");
    await expect.poll(() => lab.service.actions.length).toBeGreaterThan(0);
    gateway.signal("SIGTERM");
    expect(await gateway.ended).toBe(0);
  }
  expect(lab.service.delivered).toEqual([]);
  lab.service.write("are you back?");
  await using _next = await lab.home.run();
  await expect.poll(() => lab.service.delivered.at(-1)?.text).toBe("and this");
  const texts = lab.service.delivered
    .map(({ text }) => text)
    .filter((text) => !text.includes("still working"));
  expect(texts).toEqual(["continued and done", "and this"]);
  expect((await lab.home.hermes(["gateway", "messages", "1"])).stdout).toMatch(
    /turn .*after an interruption/,
  );
});

test("A11: a turn that killed three gateways in a row is given up, and the next message starts a new session", async () => {
  await using lab = await open({
    turns: [{ when: "hello again", answers: [{ text: "a new session" }] }],
    answers: [{ tools: [{ name: "terminal", input: { command: "kill -9 $PPID; sleep 600" } }], times: 20 }],
  });
  for (let start = 0; start < 4; start++) {
    await using gateway = await lab.home.run();
    if (start === 0) lab.service.write("do something fatal");
    await expect.poll(() => lab.service.actions.length).toBeGreaterThan(start);
    await gateway.kill();
  }
  await using _last = await lab.home.run();
  expect(await lab.service.texts(1)).toEqual([expect.stringContaining("interrupted 3 times in a row")]);
  lab.service.write("hello again");
  expect((await lab.service.texts(2)).at(-1)).toBe("a new session");
});

test("K3: a command of an agent can neither stop nor restart the gateway, nor let anyone in", async () => {
  await using lab = await open({ answers: [{ text: "unharmed" }] });
  await using _gateway = await lab.home.run();
  for (const words of [
    ["gateway", "stop"],
    ["gateway", "restart"],
    ["pairing", "approve", "scripted", "ABCD2345"],
  ])
    expect(await lab.home.hermes(words, { HERMES_COMMAND_ID: "1" })).toMatchObject({
      exitCode: 1,
      stderr: expect.stringContaining("Only a person may do this"),
    });
  lab.service.write("still there?");
  expect(await lab.service.texts(1)).toEqual(["unharmed"]);
});

test("K11: status shows when each platform was last heard", async () => {
  await using lab = await open({ answers: [] });
  await using _gateway = await lab.home.run();
  await lab.home.connected("scripted");
  expect((await lab.home.hermes(["gateway", "status"])).stdout).toMatch(
    /gateway +running, process \d+[\s\S]*dispatcher +runs here[\s\S]*scripted +connected +less than a minute ago/,
  );
});

test("E6, board G37: a chat that has subscribed to a task is told once what became of it, also after a kill", async () => {
  await using lab = await open({ answers: [] });
  const gateway = await lab.home.run();
  const { id } = (await lab.home.hermes(["kanban", "create", "Paint the door", "--json"])).json<{
    id: string;
  }>();
  const chat = ["--platform", "scripted", "--chat-id", "anna"];
  const subscribed = await lab.home.hermes(["kanban", "notify-subscribe", id, ...chat]);
  expect(subscribed).toMatchObject({
    exitCode: 0,
    stderr: expect.stringContaining("to #1"),
  });
  await lab.home.hermes(["kanban", "block", id, "which colour?"]);
  expect(await lab.service.texts(1)).toEqual(["#1 Paint the door is blocked: which colour?"]);
  await gateway.kill();
  await lab.home.hermes(["kanban", "complete", id, "--summary", "it is green"]);
  await using _next = await lab.home.run();
  await expect.poll(() => lab.service.delivered.at(-1)?.text).toBe("#1 Paint the door is done. it is green");
  expect(lab.service.delivered.filter(({ text }) => text.includes("which colour"))).toHaveLength(1);

  const child = (await lab.home.hermes(["kanban", "create", "Varnish it", "--parent", id, "--json"])).json<{
    id: string;
  }>();
  await lab.home.hermes(["kanban", "complete", child.id, "--summary", "it shines"]);
  await expect.poll(() => lab.service.delivered.at(-1)?.text).toBe("#2 Varnish it is done. it shines");
  await lab.home.hermes(["kanban", "archive", id]);
  await expect.poll(() => lab.service.delivered.at(-1)?.text).toBe("#1 Paint the door was archived.");
  const isTold = async (): Promise<string> =>
    (await lab.home.hermes(["kanban", "notify-unsubscribe", id, ...chat])).stderr;
  await expect.poll(isTold).toContain("was not subscribed to #1");
});
