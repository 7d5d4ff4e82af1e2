import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { neverAborted } from "../../src/lib/time/never-aborted.ts";
import type { Message } from "../../src/providers/message.ts";
import { openSessionStore } from "../../src/sessions/session-store.ts";
import { tempHome } from "../support/hermes.ts";
import { scale } from "../support/scale.ts";
import { type Misbehaviour, startScriptedServer } from "../support/scripted-server.ts";
import { openWorkerLab } from "../support/worker-lab.ts";

const ANSWERS = { answers: [{ text: "from {n}", times: 99 }] };
const status = (code: number, message = "no", headers = {}): Misbehaviour => ({
  type: "answer",
  status: code,
  body: JSON.stringify({ error: { message } }),
  headers,
});

/** A home with the server `one`, which has several keys, and its fallback `two`; switches happen without a wait. */
async function homeWith(urls: { readonly one: string; readonly two?: string }, more: object = {}) {
  const home = await tempHome();
  await mkdir(home.path);
  const providers = {
    one: { base_url: `${urls.one}/v1`, key_env: "ONE_KEY", model: "m1" },
    two: {
      base_url: `${urls.two ?? urls.one}/v1`,
      key_env: "TWO_KEY",
      models: { m2: { price: { input: 2, output: 4 } } },
    },
  };
  const config = {
    model: { provider: "one" },
    providers,
    agent: { api_max_retries: 0 },
    ...(urls.two === undefined ? {} : { fallback_providers: [{ provider: "two", model: "m2" }] }),
    ...more,
  };
  await writeFile(join(home.path, "config.yaml"), JSON.stringify(config));
  await writeFile(
    join(home.path, ".env"),
    "ONE_KEY=first-key-0001\nONE_KEY_2=second-key-0002\nTWO_KEY=other-key-0003\n",
  );
  return home;
}

interface Shown {
  readonly id: string;
  readonly switches: readonly unknown[];
  readonly models: readonly unknown[];
}

test("agent A7: a used-up key is replaced by the next one in this and in later processes; the switch is shown, stored, logged and never contains a key", async () => {
  await using server = await startScriptedServer(ANSWERS, {
    misbehave: (index) => (index === 0 ? status(402) : undefined),
  });
  await using home = await homeWith({ one: server.url });
  const run = () => home.hermes(["chat", "-q", "hi"], { cwd: home.folder });
  const keys = () => server.requests.map(({ headers }) => headers.authorization);

  const first = await run();
  expect(first).toMatchObject({ exitCode: 0, stdout: expect.stringContaining("from") });
  expect(first.stderr).toContain(
    "Now one/m1 (ONE_KEY_2) answers instead of one/m1 (ONE_KEY): one reports that",
  );
  expect((await run()).stderr).not.toContain("answers instead");
  expect(keys()).toEqual(["Bearer first-key-0001", "Bearer second-key-0002", "Bearer second-key-0002"]);

  const [latest] = (await home.hermes(["sessions", "list", "--all", "--json"]))
    .json<{ id: string }[]>()
    .slice(-1);
  const shown = (await home.hermes(["sessions", "show", latest?.id ?? "", "--json"])).json<Shown>();
  expect(shown).toMatchObject({
    switches: [{ from: { keySource: "ONE_KEY" }, to: { keySource: "ONE_KEY_2" }, lostCacheTokens: 0 }],
    models: [{ provider: "one", model: "m1", answers: 1 }],
  });
  const text = (await home.hermes(["sessions", "show", latest?.id ?? ""])).stdout;
  expect(text).toMatch(/^switched +\d{4}-\S+ \S+ one\/m1 \(ONE_KEY\) → one\/m1 \(ONE_KEY_2\): one reports/m);
  const log = await readFile(join(home.path, "logs", "agent.log"), "utf8");
  expect(log).toContain("route switched");
  const files = await Promise.all(
    ["keys.sqlite", "sessions.sqlite", "logs/agent.log"].map((name) =>
      readFile(join(home.path, name), "latin1"),
    ),
  );
  for (const file of [...files, first.stderr]) expect(file).not.toMatch(/(first|second|other)-key/);
});

test("agent A7: a fallback answers one turn with its own key and price; the next turn uses the model of the session again", async () => {
  await using one = await startScriptedServer(ANSWERS, {
    misbehave: (index) => (index === 0 ? status(404) : undefined),
  });
  const usage = { input: 1_000_000, output: 0 };
  await using two = await startScriptedServer({ answers: [{ text: "two", times: 9, usage }] });
  await using home = await homeWith({ one: one.url, two: two.url });
  const first = (await home.hermes(["-z", "hi", "--json"], { cwd: home.folder })).stdout;
  const events = first
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as { readonly type: string });
  expect(events.map(({ type }) => type)).toContain("route-switched");
  expect(events.findLast(({ type }) => type === "assistant")).toMatchObject({
    provider: "two",
    model: "m2",
    costUsd: 2,
  });
  expect(two.requests.map(({ headers }) => headers.authorization)).toEqual(["Bearer other-key-0003"]);

  const second = await home.hermes(["-c", "-z", "again"], { cwd: home.folder });
  expect(second).toMatchObject({ exitCode: 0, stdout: "from 2\n" });
  expect(second.stderr).toMatch(
    /^hermes: Now one\/m1 \(ONE_KEY\) answers instead of two\/m2 \(TWO_KEY\): Each new turn starts with the session's own model\..* about \d+ tokens are read again\.\n$/,
  );
  expect([one.requests.length, two.requests.length]).toEqual([2, 1]);
});

test("agent A7: if the fallback fails too, one error names everything that was tried", async () => {
  await using one = await startScriptedServer(ANSWERS, { misbehave: () => status(503) });
  await using two = await startScriptedServer(ANSWERS, { misbehave: () => status(401) });
  await using home = await homeWith({ one: one.url, two: two.url });
  const { exitCode, stdout, stderr } = await home.hermes(["-z", "hi"], { cwd: home.folder });
  expect([exitCode, stdout]).toEqual([1, ""]);
  expect(stderr).toMatch(
    /No model answered\. 1\. one\/m1 \(ONE_KEY\): .*503.* 2\. two\/m2 \(TWO_KEY\): .*401/,
  );
});

test("agent M6: a conversation that is too long stays with its model, and a session on a chosen local server never moves to a remote one", async () => {
  await using one = await startScriptedServer(ANSWERS, {
    misbehave: () => status(400, "context_length_exceeded"),
  });
  await using two = await startScriptedServer(ANSWERS);
  await using home = await homeWith({ one: one.url, two: two.url });
  const long = await home.hermes(["-z", "hi"], { cwd: home.folder });
  expect(long).toMatchObject({ exitCode: 1, stderr: expect.stringContaining("does not fit") });
  expect(two.requests).toHaveLength(0);

  await using down = await startScriptedServer(ANSWERS, { misbehave: () => status(404) });
  const remote = {
    model: { provider: "openrouter", default: "a/b" },
    fallback_providers: [{ provider: "anthropic", model: "claude-sonnet-4-5" }],
    providers: { mine: { base_url: `${down.url}/v1`, key_env: "ONE_KEY", model: "m" } },
  };
  await using cloud = await homeWith({ one: down.url }, remote);
  const env = { OPENROUTER_API_KEY: "or-0001", ANTHROPIC_API_KEY: "an-0002", HTTPS_PROXY: two.url };
  const chosen = await cloud.hermes(["--provider", "mine", "-z", "hi"], { cwd: cloud.folder, env });
  expect(chosen).toMatchObject({
    exitCode: 1,
    stderr: expect.stringContaining("is local. Only a local model"),
  });
  expect(two.requests).toHaveLength(0);
});

test("agent A7: the worker of a task switches like any other agent, and the log of its run shows it", async () => {
  await using server = await startScriptedServer(ANSWERS, { misbehave: () => status(401) });
  await using lab = await openWorkerLab();
  await lab.addProfile("coder", {
    answers: [{ tools: [{ name: "kanban_complete", input: { summary: "done" } }] }],
  });
  const home = join(lab.root, "profiles", "coder");
  const config = {
    model: { base_url: `${server.url}/v1`, default: "m" },
    fallback_providers: [{ provider: "scripted", model: join(home, "script.json") }],
  };
  await writeFile(join(home, "config.yaml"), JSON.stringify(config));
  const claimed = await lab.claim((await lab.add("task")).id);
  expect(await lab.host.start(claimed, neverAborted)).not.toMatchObject({ kind: "failed" });
  expect(await lab.ended(claimed)).toMatchObject({ outcome: "completed" });
  expect(server.requests).toHaveLength(1);
  expect(await lab.logOf(claimed)).toMatch(/Now scripted\/\S+ answers instead of custom\/m: /);
}, 300_000);

test(`agent A7: an agent that is killed ${scale.killMoments} times while it switches keys and providers keeps a valid transcript and loses nothing`, async () => {
  let isBroken = true;
  await using one = await startScriptedServer(ANSWERS, {
    misbehave: (index) => (isBroken ? status([402, 404, 503, 429][index % 4] ?? 500) : undefined),
  });
  await using two = await startScriptedServer({ answers: [{ text: "two", times: 999, delay_ms: 1 }] });
  await using home = await homeWith({ one: one.url, two: two.url });
  await home.hermes(["-z", "begin"], { cwd: home.folder });
  const stored: string[] = [];
  for (let round = 0; round < scale.killMoments; round++) {
    const before = one.requests.length + two.requests.length;
    const killWhen = async (signal: AbortSignal): Promise<void> => {
      while (one.requests.length + two.requests.length < before + (round % 3))
        await sleep(1, undefined, { signal });
      await sleep(Math.random() * (round % 3 === 0 ? 400 : 40), undefined, { signal });
    };
    const { stdout } = await home.hermes(["-c", "-z", `round ${round}.`, "--json"], {
      cwd: home.folder,
      killWhen,
    });
    if (stdout.includes('"type":"turn-start"')) stored.push(`round ${round}.`);
  }
  isBroken = false;
  const last = await home.hermes(["-c", "-z", "last"], { cwd: home.folder });
  expect(last.exitCode, last.stderr).toBe(0);
  using store = await openSessionStore(join(home.path, "sessions.sqlite"), {}, neverAborted);
  expect(await store.checkIntegrity()).toEqual([]);
  const [session] = store.list.list({ limit: 1 });
  const { messages, openTurn } = store.loadSession(session?.id ?? "");
  expect(openTurn).toBeUndefined();
  expectAlternating(messages);
  const said = JSON.stringify(messages);
  for (const text of [...stored, "last"]) expect(said).toContain(`"${text}"`);
}, 600_000);

function expectAlternating(messages: readonly Message[]): void {
  const roles = messages.map(({ role }) => role).filter((role) => role !== "system");
  expect(roles).toEqual(roles.map((_, index) => (index % 2 === 0 ? "user" : "assistant")));
}
