import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { tempHome } from "../support/hermes.ts";
import { startScriptedServer } from "../support/scripted-server.ts";

const ANSWERS = { answers: [{ text: "yes", times: 99 }] };

test("a resumed session keeps its model, address and wire format; a flag changes them permanently, and a new address in the settings applies together with its model", async () => {
  await using home = await tempHome();
  await using first = await startScriptedServer(ANSWERS);
  let knowsModel = true;
  await using second = await startScriptedServer(ANSWERS, {
    misbehave: () => (knowsModel ? undefined : { type: "answer", status: 404, body: "{}" }),
  });
  const env: Record<string, string> = { HERMES_AGENT_API_MAX_RETRIES: "0" };
  await mkdir(home.path);
  const sent: string[] = [];
  const seen = { first: 0, second: 0 };
  const run = async (...args: readonly string[]): Promise<string> => {
    const { stderr } = await home.hermes(args, { cwd: home.folder, env });
    for (const [name, server] of Object.entries({ first, second })) {
      const key = name as keyof typeof seen;
      for (const { body } of server.requests.slice(seen[key])) sent.push(`${name} ${String(body["model"])}`);
      seen[key] = server.requests.length;
    }
    return stderr;
  };
  const last = () => sent.at(-1);
  const writeModel = (model: object) => writeFile(join(home.path, "config.yaml"), JSON.stringify({ model }));

  await writeModel({ base_url: `${first.url}/v1`, default: "m1" });
  expect(await run("-z", "a")).toBe("");
  expect(last()).toBe("first m1");

  // A new model in the settings applies to new sessions, and one line reports the difference.
  await writeModel({ base_url: `${first.url}/v1`, default: "m2" });
  expect(await run("-c", "-z", "b")).toBe(
    "hermes: This session continues with m1 (custom); new sessions start with m2 (custom). Change it with -m.\n",
  );
  expect(last()).toBe("first m1");

  // Any flag takes precedence, and its model is stored after its first answer.
  expect(await run("-c", "-m", "m3", "-z", "c")).toBe("");
  expect(last()).toBe("first m3");
  expect(await run("-c", "-z", "d")).toContain("continues with m3 (custom)");
  expect(last()).toBe("first m3");
  expect(await run("--model.default", "m9", "-c", "-z", "e")).toBe("");
  expect(last()).toBe("first m9");

  // A model's name is valid only for its server, so a new address applies together with its model.
  await writeModel({ base_url: `${second.url}/v1`, default: "n2" });
  expect(await run("-c", "-z", "f")).toBe(
    `hermes: The address of this session's model has changed in the settings: the session continues with n2 at ${second.url}/v1 instead of m9 at ${first.url}/v1.\n`,
  );
  expect(last()).toBe("second n2");

  // A model that never answered is not stored.
  knowsModel = false;
  await run("-c", "-m", "typo", "-z", "wrong");
  expect(last()).toBe("second typo");
  knowsModel = true;
  await run("-c", "-z", "g");
  expect(last()).toBe("second n2");

  // An address and a wire format that were requested stay, whatever the settings contain.
  const anthropic = ["--model.api_mode", "anthropic_messages"];
  expect(await run("--model.base_url", `${first.url}/v1`, ...anthropic, "-m", "k1", "-c", "-z", "h")).toBe(
    `hermes: This session continues with k1 at ${first.url}/v1 instead of n2 at ${second.url}/v1.\n`,
  );
  expect(await run("-c", "-z", "i")).toContain(`continues with k1 at ${first.url}/v1`);
  await writeModel({});
  expect(await run("-c", "-z", "j")).toBe("");
  expect(await run("--model.base_url", `${first.url}/v1`, "-c", "-z", "k")).toBe("");
  expect(sent.slice(-4)).toEqual(Array.from({ length: 4 }, () => "first k1"));
  expect(first.requests.slice(-4).map(({ path }) => path)).toEqual(
    Array.from({ length: 4 }, () => "/v1/messages"),
  );

  // A variable takes precedence for its run, like a flag.
  env["HERMES_MODEL_BASE_URL"] = `${second.url}/v1`;
  expect(await run("-c", "-m", "n3", "-z", "l")).toContain(`continues with n3 at ${second.url}/v1`);
  expect(last()).toBe("second n3");
});

test.each([
  ["--provider", "anthropic", "/v1/messages"],
  ["-m", "anthropic:m", "/v1/messages"],
  ["--provider", "openai-api", "/v1/chat/completions"],
  ["-m", "deepseek:m", "/v1/chat/completions"],
])(
  "agent M6: with %s %s a request goes to the address of a flag or a variable, without a vendor's key",
  async (flag, name, path) => {
    await using home = await tempHome();
    await using server = await startScriptedServer(ANSWERS);
    const keys = { ANTHROPIC_API_KEY: "k-ant", OPENAI_API_KEY: "k-oai", DEEPSEEK_API_KEY: "k-ds" };
    const address = `${server.url}/v1`;
    const start = (args: readonly string[], env: Record<string, string>) =>
      home.hermes([...args, flag, name, "-z", "hi"], { cwd: home.folder, env: { ...keys, ...env } });
    expect(await start(["--model.base_url", address], {})).toMatchObject({ exitCode: 0 });
    expect(await start([], { HERMES_MODEL_BASE_URL: address })).toMatchObject({ exitCode: 0 });
    expect(await start([], { HERMES_MODEL_BASE_URL: address, HERMES_MODEL_API_KEY: "k-own" })).toMatchObject({
      exitCode: 0,
    });
    expect(server.requests.map((request) => request.path)).toEqual([path, path, path]);
    const sent = server.requests.map(({ headers }) => /k-\w+/.exec(JSON.stringify(headers))?.[0]);
    expect(sent).toEqual([undefined, undefined, "k-own"]);
  },
);
