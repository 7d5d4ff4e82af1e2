import { mkdir, readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { tempHome } from "../support/hermes.ts";
import { startScriptedServer } from "../support/scripted-server.ts";

interface Key {
  readonly key: string;
  readonly state: string;
}

/** Opens a home whose provider `lab` accepts only keys that end in `good`. */
async function openLab() {
  const server = await startScriptedServer(
    { answers: [{ text: "ok", times: 99 }] },
    {
      misbehave: (_, { headers }) =>
        headers.authorization?.endsWith("good")
          ? undefined
          : { type: "answer", status: 401, body: JSON.stringify({ error: { message: "bad key" } }) },
    },
  );
  const home = await tempHome();
  await mkdir(home.path);
  const lab = { base_url: `${server.url}/v1`, key_env: "LAB_KEY", model: "m" };
  const config = { model: { provider: "lab" }, providers: { lab }, agent: { api_max_retries: 0 } };
  await writeFile(join(home.path, "config.yaml"), JSON.stringify(config));
  return {
    ...home,
    server,
    readEnv: () => readFile(join(home.path, ".env"), "utf8").catch(() => ""),
    add: (key: string, ...more: string[]) =>
      home.hermes(["auth", "add", "lab", ...more], { stdin: `${key}\n` }),
    async list() {
      return (await home.hermes(["auth", "list", "--json"], { cwd: home.folder })).json<Key[]>();
    },
    async [Symbol.asyncDispose]() {
      await server[Symbol.asyncDispose]();
      await home[Symbol.asyncDispose]();
    },
  };
}

test("agent A7: keys are tested, stored only in .env as NAME, NAME_2 and so on, listed without their value, and removed", async () => {
  await using lab = await openLab();
  const refused = await lab.add("first-key-that-is-bad");
  expect(refused).toMatchObject({
    exitCode: 1,
    stderr: expect.stringContaining("The key was not stored: lab did"),
  });
  expect(await lab.readEnv()).toBe("");

  expect((await lab.add("first-key-that-is-good")).stderr).toContain("Stored LAB_KEY in ");
  expect((await lab.add("  other-key-that-is-good  ")).exitCode).toBe(0);
  expect((await lab.add("other-key-that-is-good")).stderr).toContain("already stored as LAB_KEY_2");
  expect((await lab.add("")).stderr).toContain("The key is empty");
  expect((await lab.add("third-key-that-is-bad", "--no-test")).exitCode).toBe(0);
  expect(await lab.readEnv()).toBe(
    "LAB_KEY=first-key-that-is-good\nLAB_KEY_2=other-key-that-is-good\nLAB_KEY_3=third-key-that-is-bad\n",
  );
  expect((await stat(join(lab.path, ".env"))).mode & 0o777).toBe(0o600);

  const tested = await lab.hermes(["auth", "test"], { cwd: lab.folder });
  expect(tested.exitCode).toBe(1);
  expect(tested.stdout).toMatch(/^ok {4}lab#1 .*\nok {4}lab#2 .*\nFAIL {2}lab#3 \(LAB_KEY_3\): .*401/);
  expect((await lab.list()).map(({ key, state }) => `${key} ${state}`)).toEqual([
    "lab#1 ready",
    "lab#2 ready",
    "lab#3 refused",
  ]);
  const outputs = await Promise.all(
    [["auth", "list"], ["status"], ["doctor"], ["doctor", "--online"]].map((words) =>
      lab.hermes(words, { cwd: lab.folder }),
    ),
  );
  for (const { stdout, stderr } of [...outputs, tested]) expect(stdout + stderr).not.toContain("-that-is-");
  expect(outputs[0]?.stdout).toMatch(/^lab#3 +LAB_KEY_3 +….bad +\.env +refused until \S+ \S+, never used$/m);
  expect(outputs[1]?.stdout).toContain("key from LAB_KEY and 2 more");
  expect(outputs[2]?.stdout).toMatch(/note +keys +3 keys for lab; not used: LAB_KEY_3 until/);
  expect(outputs[3]?.stdout).toMatch(/ok +keys +LAB_KEY_2: accepted\n.*warn +keys +LAB_KEY_3: .*401/s);

  expect((await lab.hermes(["auth", "remove", "lab", "--yes"])).stderr).toContain("lab has 3 keys.");
  expect((await lab.hermes(["auth", "remove", "lab#2"])).stderr).toContain("needs confirmation");
  expect((await lab.hermes(["auth", "remove", "lab#2", "--yes"])).exitCode).toBe(0);
  expect((await lab.list()).map(({ key }) => key)).toEqual(["lab#1", "lab#3"]);
  expect((await lab.add("fourth-key-that-is-good")).stderr).toContain("Stored LAB_KEY_2");
  const env = { LAB_KEY_4: "key-of-the-shell-good" };
  const inShell = await lab.hermes(["auth", "remove", "LAB_KEY_4", "--yes"], { env });
  expect(inShell.stderr).toContain("is set in the environment");
});

test("agent A7: keys that several processes add at once are all stored", async () => {
  await using lab = await openLab();
  const keys = Array.from({ length: 6 }, (_, index) => `sk-added-at-once-${index}`);
  const added = await Promise.all(
    keys.map((key) => lab.hermes(["auth", "add", "lab", "--no-test"], { stdin: key, ownProcess: true })),
  );
  expect(added.map(({ exitCode }) => exitCode)).toEqual(keys.map(() => 0));
  const stored = await lab.readEnv();
  for (const key of keys) expect(stored).toContain(key);
});

test("agent A7: doctor names what is wrong with an entry of the fallback chain, and tests each entry online", async () => {
  await using lab = await openLab();
  const fallback_providers = [
    { provider: "lab", model: "m2" },
    { provider: "anthropic", model: "claude-sonnet-4-5" },
    { provider: "openai-api", model: "x", base_url: `${lab.server.url}/v1` },
  ];
  const lines = JSON.stringify({
    ...JSON.parse(await readFile(join(lab.path, "config.yaml"), "utf8")),
    fallback_providers,
  });
  await writeFile(join(lab.path, "config.yaml"), lines);
  const env = { LAB_KEY: "key-of-the-shell-good", OPENAI_API_KEY: "key-of-openai-good" };
  const { stdout } = await lab.hermes(["doctor", "--online"], { cwd: lab.folder, env });
  expect(stdout).toMatch(/ok +fallback +1\. m2 \(lab\), key from LAB_KEY; it answers/);
  expect(stdout).toMatch(/warn +fallback +There is no key for the provider anthropic\./);
  // The key of OpenAI is not sent to another address.
  expect(stdout).toMatch(/warn +fallback +3\. openai-api did not accept the request, which had no key/);
  const status = await lab.hermes(["status"], { env });
  expect(status.stdout).toContain("lab/m2, then anthropic/claude-sonnet-4-5, then openai-api/x");
  expect(lab.server.requests.some(({ headers }) => headers.authorization?.includes("openai"))).toBe(false);
});
