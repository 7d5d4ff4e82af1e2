import { chmod, mkdir, readFile, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { configKeys } from "../../src/config/config-keys.ts";
import { tempHome } from "../support/hermes.ts";

interface Key {
  key: string;
  env: string;
  type: string;
  values?: readonly string[] | undefined;
  default: unknown;
  description: string;
  secret: boolean;
}

interface Shown {
  key: string;
  value: unknown;
  origin: string;
}

interface Check {
  problems: { kind: string; key?: string; where: string }[];
}

/** For each type of setting, texts of which every key of the type accepts at least one. */
const SAMPLES: Record<string, string[]> = {
  boolean: ["yes", "no"],
  integer: ["7"],
  number: ["7.5", "0.5"],
  string: [
    "http://127.0.0.1:9/v1",
    "none",
    "/folder",
    `scrypt$16384$8$1$${"a".repeat(22)}$${"b".repeat(43)}`,
  ],
  list: ['["SAMPLE_NAME"]', "[]"],
  map: ['{"SAMPLE":"text"}', "{}"],
  "integer|map": ['{"work":2}'],
};

async function homeWith(files: Record<string, string>) {
  const home = await tempHome();
  await mkdir(home.path, { recursive: true });
  for (const [name, text] of Object.entries(files)) await writeFile(join(home.path, name), text);
  return home;
}

test("a setting that is not implemented yet is an error for config and a warning for programs, in every layer", async () => {
  const file = [
    "approvals: { cron_mode: deny, mcp_reload_confirm: true, mood: calm }",
    "kanban: { auto_decompose: false, max_spawn: 3 }",
    "terminal: { backendd: docker, cwdd: /, timeoutt: 1 }",
  ].join("\n");
  await using home = await homeWith({ "config.yaml": file });
  const env = { HERMES_APPROVALS_UNATTENDED_MODE: "deny" };

  const checked = await home.hermes(["config", "check", "--json"], { env });
  expect(checked.exitCode).not.toBe(0);
  const unbuilt = checked.json<Check>().problems.filter(({ kind }) => kind === "unbuilt-key");
  expect(unbuilt.map(({ key }) => key)).toEqual([
    "approvals.cron_mode",
    "approvals.mcp_reload_confirm",
    "kanban.auto_decompose",
    "approvals.unattended_mode",
  ]);
  expect(unbuilt.map(({ where }) => where)[3]).toBe("HERMES_APPROVALS_UNATTENDED_MODE");

  const started = await home.hermes(["config", "show"], { env });
  expect(started.exitCode).toBe(0);
  expect(started.stderr).toContain(
    "these settings are not implemented and are ignored: approvals.cron_mode, approvals.mcp_reload_confirm, kanban.auto_decompose, approvals.unattended_mode.",
  );

  const refusals = await Promise.all(
    [
      ["config", "set", "approvals.cron_mode", "deny"],
      ["config", "get", "approvals.cron_mode"],
      ["config", "explain", "approvals.cron_mode"],
      ["--approvals.cron_mode=deny", "status"],
    ].map((words) => home.hermes(words)),
  );
  for (const refused of refusals) {
    expect(refused.exitCode).not.toBe(0);
    expect(refused.stderr).toContain("has no effect");
  }
  expect(await readFile(join(home.path, "config.yaml"), "utf8")).toBe(file);
  const removed = await home.hermes(["config", "unset", "approvals.cron_mode"]);
  expect(removed).toMatchObject({ exitCode: 0, stderr: expect.stringContaining("no longer set") });
});

describe("every key", () => {
  test("is set by its variable with origin env, and its value is shown unless it is a secret", async () => {
    await using home = await tempHome();
    const keys = (await home.hermes(["config", "keys", "--json"])).json<Key[]>();
    expect(keys.length).toBeGreaterThan(90);
    const texts = new Map(keys.map((key) => [key, samplesOf(key)]));
    const env = () => Object.fromEntries(keys.map((key) => [key.env, texts.get(key)?.[0] ?? ""]));
    // Tries the texts in order; a key that refuses all of them fails below.
    const refusedKeys = async (): Promise<Key[]> => {
      const { problems } = (await home.hermes(["config", "check", "--json"], { env: env() })).json<Check>();
      return keys.filter(({ env }) => problems.some(({ where }) => where === env));
    };
    for (let round = 1; round < 4; round++)
      for (const key of await refusedKeys()) texts.set(key, texts.get(key)?.slice(1) ?? []);
    const shown = await home.hermes(["config", "show", "--json"], { env: env() });
    expect(shown, shown.stderr).toMatchObject({ exitCode: 0 });
    const found = new Map(shown.json<Shown[]>().map((row) => [row.key, row]));
    for (const key of keys) {
      const text = texts.get(key)?.[0] ?? "";
      expect(found.get(key.key), key.key).toMatchObject({ origin: "env" });
      if (key.secret) expect(JSON.stringify(found.get(key.key))).not.toContain(text);
      else expect(found.get(key.key)?.value, key.key).toEqual(valueOfSample(key.type, text));
    }
  });

  test("is listed with exactly the fields that scripts rely on, as in the schema", async () => {
    await using home = await tempHome();
    const keys = (await home.hermes(["config", "keys", "--json"])).json<Key[]>();
    // The built program uses the facts that the build computed from the schema.
    const facts = ({ key, type, values, default: standard, description, secret }: Omit<Key, "env">) => ({
      key,
      type,
      values,
      default: secret ? undefined : standard,
      description,
      secret,
    });
    expect(keys.map(facts)).toEqual(configKeys().map(facts));
    for (const key of keys) {
      expect(key).toMatchObject({
        key: expect.any(String),
        env: expect.any(String),
        type: expect.any(String),
        description: expect.any(String),
        secret: expect.any(Boolean),
      });
      expect(key).toHaveProperty("default");
    }
  });
});

function samplesOf(key: Key): string[] {
  return key.type === "enum" ? [key.values?.at(-1) ?? ""] : (SAMPLES[key.type] ?? []);
}

function valueOfSample(type: string, text: string): unknown {
  if (type === "boolean") return text === "yes";
  return type === "string" || type === "enum" ? text : JSON.parse(text);
}

describe("layers", () => {
  test.each(["false", "0", "no"])(
    "TERMINAL_DOCKER_PERSIST_ACROSS_PROCESSES=%s reads as false",
    async (text) => {
      await using home = await tempHome();
      const env = { TERMINAL_DOCKER_PERSIST_ACROSS_PROCESSES: text };
      const run = await home.hermes(["config", "get", "terminal.docker_persist_across_processes", "--json"], {
        env,
      });
      expect(run.json()).toEqual({
        key: "terminal.docker_persist_across_processes",
        value: false,
        origin: "env",
      });
    },
  );

  test("an invalid boolean is refused with the name of the variable", async () => {
    await using home = await tempHome();
    const env = { TERMINAL_DOCKER_PERSIST_ACROSS_PROCESSES: "maybe" };
    const run = await home.hermes(["config", "get", "terminal.docker_persist_across_processes"], { env });
    expect(run.exitCode).toBe(78);
    expect(run.stderr).toContain("TERMINAL_DOCKER_PERSIST_ACROSS_PROCESSES");
    expect(run.stdout).toBe("");
  });

  test("TERMINAL_ENV in the profile's .env takes effect, and the real environment overrides it", async () => {
    await using home = await homeWith({ ".env": "TERMINAL_ENV=docker\n" });
    const get = ["config", "get", "terminal.backend", "--json"];
    expect((await home.hermes(get)).json()).toMatchObject({ value: "docker", origin: "env" });
    expect((await home.hermes(get, { env: { TERMINAL_ENV: "podman" } })).json()).toMatchObject({
      value: "podman",
    });
  });

  test("a flag overrides a variable, a variable the file, and the file the default; explain shows all of them", async () => {
    await using home = await homeWith({ "config.yaml": "terminal:\n  timeout: 20\n" });
    const env = { TERMINAL_TIMEOUT: "30" };
    const origin = async (args: string[], options = {}) => {
      const { value, origin } = (
        await home.hermes(["config", "get", "terminal.timeout", "--json", ...args], options)
      ).json<{
        value: number;
        origin: string;
      }>();
      return `${origin} ${value}`;
    };
    expect(await origin(["--terminal.timeout", "40"], { env })).toBe("flag 40");
    expect(await origin([], { env })).toBe("env 30");
    expect(await origin([])).toBe("file 20");
    const explained = await home.hermes(
      ["config", "explain", "terminal.timeout", "--json", "--terminal.timeout=40"],
      { env },
    );
    expect(explained.json<{ layers: { origin: string; where: string }[] }>().layers).toMatchObject([
      { origin: "flag", where: "--terminal.timeout" },
      { origin: "env", where: "TERMINAL_TIMEOUT" },
      { origin: "file", where: `${join(home.path, "config.yaml")}:2:12` },
    ]);
  });

  test("a backend that is not implemented is refused by name and never replaced by local", async () => {
    await using home = await tempHome();
    const run = await home.hermes(["config", "get", "terminal.backend"], { env: { TERMINAL_ENV: "modal" } });
    expect(run).toMatchObject({ exitCode: 78, stdout: "" });
    expect(run.stderr).toContain("modal is not built yet");
  });

  test("a secret is read from .env, never from config.yaml or a flag, and never shown", async () => {
    await using home = await homeWith({ ".env": "HERMES_MODEL_API_KEY=sk-very-secret-value\n" });
    const get = await home.hermes(["config", "get", "model.api_key", "--json"]);
    expect(get.json()).toMatchObject({ origin: "env" });
    const shown = await home.hermes(["config", "show", "--all"]);
    const explained = await home.hermes(["config", "explain", "model.api_key"]);
    expect(get.stdout + shown.stdout + explained.stdout).not.toContain("sk-very-secret-value");
    await writeFile(join(home.path, "config.yaml"), "model:\n  api_key: sk-in-the-wrong-place\n");
    const refused = await home.hermes(["status"]);
    expect(refused.stderr).toContain("belongs in .env");
    expect(refused.stdout + refused.stderr).not.toContain("sk-in-the-wrong-place");
    const flag = await home.hermes([
      "config",
      "get",
      "model.provider",
      "--model.api_key",
      "sk-on-the-command-line",
    ]);
    expect(flag.exitCode).toBe(78);
    expect(flag.stderr).not.toContain("sk-on-the-command-line");
  });
});

test("config set refuses a wrong name or value with the closest name, or with the command that shows valid values", async () => {
  await using home = await tempHome();
  for (const [words, expected] of [
    [["set", "ANTHROPIC_APIKEY", "x"], /no setting ANTHROPIC_APIKEY\.\n {2}Did you mean ANTHROPIC_API_KEY\?/],
    [["set", "anthropic_api_key", "x"], /Did you mean ANTHROPIC_API_KEY\?/],
    [["unset", "anthropic_api_key"], /Did you mean ANTHROPIC_API_KEY\?/],
    [["set", "terminal.timout", "5"], /Did you mean terminal\.timeout\?/],
    [
      ["set", "terminal.timeout", "abc"],
      /nothing was changed\.\n {2}See .*`hermes config explain terminal\.timeout`/,
    ],
  ] as const)
    expect(await home.hermes(["config", ...words])).toMatchObject({
      exitCode: 78,
      stderr: expect.stringMatching(expected),
    });
});

test("a hint that several problems of a file share is printed once", async () => {
  await using home = await homeWith({ "config.yaml": "model:\n  default: [a\nfoo: bar: baz\n" });
  const { stderr } = await home.hermes(["-z", "go"]);
  expect(stderr.match(/config\.yaml:3:/g)).toHaveLength(2);
  expect(stderr.match(/hermes config edit/g)).toHaveLength(1);
});

describe("an invalid file gives one clear line with file, line, key and fix", () => {
  const cases: [string, string, RegExp][] = [
    [
      "a wrong type",
      "terminal:\n  timeout: soon\n",
      /config\.yaml:2:12: terminal\.timeout expected a whole number, not "soon"/,
    ],
    ["broken YAML", "terminal: [1\n", /config\.yaml:\d+:\d+: /],
    ["a tab", "terminal:\n\ttimeout: 5\n", /config\.yaml:2:1: a tab indents this line/],
    [
      "a duplicate key",
      "terminal:\n  timeout: 5\n  timeout: 6\n",
      /config\.yaml:3:3: this key appears twice/,
    ],
    ["a value where a section should be", "terminal: docker\n", /config\.yaml:1:1: terminal is a section/],
    ["a bare list", "- a\n- b\n", /config\.yaml:1:1: the file must contain/],
    [
      "a number out of range",
      "terminal:\n  ssh_port: 70000\n  backend: ssh\n",
      /config\.yaml:2:13: terminal\.ssh_port .*65535/,
    ],
  ];
  test.each(cases)("%s", async (_, text, expected) => {
    await using home = await homeWith({ "config.yaml": text });
    const run = await home.hermes(["config", "show"]);
    expect(run).toMatchObject({ exitCode: 78, stdout: "" });
    expect(run.stderr).toMatch(expected);
    expect(await readFile(join(home.path, "config.yaml"), "utf8")).toBe(text);
  });

  test("wrong encoding", async () => {
    await using home = await tempHome();
    await mkdir(home.path);
    await writeFile(
      join(home.path, "config.yaml"),
      Buffer.from("terminal:\n  cwd: /tmp/\xfcber\n", "latin1"),
    );
    const run = await home.hermes(["config", "show"]);
    expect(run.exitCode).toBe(78);
    expect(run.stderr).toMatch(/config\.yaml.*UTF-8/s);
  });

  test("a directory in place of the file", async () => {
    await using home = await tempHome();
    await mkdir(join(home.path, "config.yaml"), { recursive: true });
    const run = await home.hermes(["config", "show"]);
    expect(run.exitCode).toBe(78);
    expect(run.stderr).toMatch(/config\.yaml.*folder|directory/);
  });

  test("an unknown key is a warning at start and an error of the check, with a suggestion", async () => {
    await using home = await homeWith({
      "config.yaml": "terminal:\n  timout: 5\nproviders:\n  local:\n    base_urll: http://a\n",
    });
    const start = await home.hermes(["config", "show"]);
    expect(start.exitCode).toBe(0);
    expect(start.stderr).toContain("Did you mean terminal.timeout?");
    const check = await home.hermes(["config", "check", "--json"]);
    expect(check.exitCode).toBe(78);
    expect(check.json()).toMatchObject({
      ok: false,
      problems: [
        {
          key: "terminal.timout",
          where: expect.stringContaining(":2:3"),
          hint: "Did you mean terminal.timeout?",
        },
        {
          key: "providers.local.base_urll",
          where: expect.stringContaining(":5:"),
          hint: "Did you mean base_url?",
        },
      ],
    });
  });

  test("an invalid value of a key that the backend does not use is an error for get, check and set, not for the program", async () => {
    await using home = await homeWith({ "config.yaml": "terminal:\n  docker_network: perhaps\n" });
    expect((await home.hermes(["config", "show"])).exitCode).toBe(0);
    expect((await home.hermes(["config", "get", "terminal.timeout"])).exitCode).toBe(78);
    expect((await home.hermes(["config", "check"])).exitCode).toBe(78);
    expect((await home.hermes(["config", "set", "terminal.timeout", "5"])).exitCode).toBe(78);
    expect((await home.hermes(["config", "show"], { env: { TERMINAL_ENV: "docker" } })).exitCode).toBe(78);
    expect((await home.hermes(["config", "set", "terminal.docker_network", "off"])).exitCode).toBe(0);
    expect((await home.hermes(["config", "check"])).exitCode).toBe(0);
  });

  test("the check finds a misspelled variable", async () => {
    await using home = await tempHome();
    const run = await home.hermes(["config", "check"], { env: { TERMINAL_TIMEOUTT: "5" } });
    expect(run.exitCode).toBe(78);
    expect(run.stdout).toContain("Did you mean TERMINAL_TIMEOUT?");
  });
});

describe("set and unset", () => {
  test("twenty concurrent changes of twenty different keys are all stored, and comments are kept", async () => {
    const before = "# kept\nterminal:\n  timeout: 1 # why\n\n# also kept\nkanban:\n  failure_limit: 9\n";
    await using home = await homeWith({ "config.yaml": before });
    const keys = (await home.hermes(["config", "keys", "--json"]))
      .json<Key[]>()
      .filter((key) => key.type === "integer" && !key.secret);
    const twenty = keys.slice(0, 20);
    expect(twenty).toHaveLength(20);
    const runs = await Promise.all(
      twenty.map((key, index) =>
        home.hermes(["config", "set", key.key, String(index + 1)], { ownProcess: true }),
      ),
    );
    expect(runs.map((run) => run.exitCode)).toEqual(twenty.map(() => 0));
    const shown = (await home.hermes(["config", "show", "--json"])).json<
      { key: string; value: unknown; origin: string }[]
    >();
    for (const [index, key] of twenty.entries()) {
      expect(shown.find((setting) => setting.key === key.key)).toMatchObject({
        value: index + 1,
        origin: "file",
      });
    }
    const text = await readFile(join(home.path, "config.yaml"), "utf8");
    for (const comment of ["# kept", "# why", "# also kept"]) expect(text).toContain(comment);
  }, 600_000);

  test("an unknown key, a wrong value and a broken file are refused and nothing is written", async () => {
    const text = "terminal:\n  timeout: 5\n";
    await using home = await homeWith({ "config.yaml": text });
    const unknown = await home.hermes(["config", "set", "terminal.timout", "6"]);
    expect(unknown.exitCode).toBe(78);
    expect(unknown.stderr).toContain("Did you mean terminal.timeout");
    const wrong = await home.hermes(["config", "set", "terminal.timeout", "soon"]);
    expect(wrong.exitCode).toBe(78);
    expect((await home.hermes(["config", "set", "terminal.timeout", "0"])).exitCode).toBe(78);
    expect(await readFile(join(home.path, "config.yaml"), "utf8")).toBe(text);
  });

  test("a variable name selects the key of a provider, or a setting", async () => {
    await using home = await tempHome();
    await mkdir(home.path, { recursive: true });
    await writeFile(join(home.path, "config.yaml"), "providers: { lab: { key_env: LAB_KEY } }\n");
    const env = () => readFile(join(home.path, ".env"), "utf8");
    for (const name of ["ANTHROPIC_API_KEY", "LAB_KEY"]) {
      expect(await home.hermes(["config", "set", name], { stdin: "typed-secret\n" })).toMatchObject({
        exitCode: 0,
      });
      expect(await env()).toContain(`${name}=typed-secret`);
      expect(await home.hermes(["config", "unset", name])).toMatchObject({ exitCode: 0 });
      expect(await env()).not.toContain("typed-secret");
    }
    const set = await home.hermes(["config", "set", "TERMINAL_ENV", "docker"]);
    expect(set.stderr).toContain('terminal.backend is "docker"');
    const unknown = await home.hermes(["config", "set", "SOME_API_KEY", "typed-secret"]);
    expect(unknown).toMatchObject({ exitCode: 78, stderr: expect.not.stringContaining("typed-secret") });
  });

  test("a secret goes to .env with mode 0600, from standard input, and other lines stay", async () => {
    await using home = await homeWith({ ".env": "# mine\nOTHER=1\n" });
    await chmod(join(home.path, ".env"), 0o644);
    const run = await home.hermes(["config", "set", "model.api_key"], { stdin: "sk-typed-in\n" });
    expect(run.exitCode).toBe(0);
    expect(run.stdout + run.stderr).not.toContain("sk-typed-in");
    expect(await readFile(join(home.path, ".env"), "utf8")).toBe(
      "# mine\nOTHER=1\nHERMES_MODEL_API_KEY=sk-typed-in\n",
    );
    const { stat } = await import("node:fs/promises");
    expect((await stat(join(home.path, ".env"))).mode & 0o777).toBe(0o600);
  });

  test("a field inside a map is set, read back and removed", async () => {
    await using home = await tempHome();
    expect(
      (await home.hermes(["config", "set", "providers.local.base_url", " http://127.0.0.1:8080/v1 "]))
        .exitCode,
    ).toBe(0);
    expect((await home.hermes(["config", "get", "providers.local.base_url"])).stdout).toBe(
      "http://127.0.0.1:8080/v1\n",
    );
    expect((await home.hermes(["config", "set", "providers.local.base_url", "ftp://x"])).exitCode).toBe(78);
    const secret = await home.hermes(["config", "set", "model.base_url", "http://me:hunter2@h/v1"]);
    expect(secret).toMatchObject({ exitCode: 78, stderr: expect.not.stringContaining("hunter2") });
    expect((await home.hermes(["config", "unset", "providers.local.base_url"])).exitCode).toBe(0);
    expect((await home.hermes(["config", "get", "providers", "--json"])).json()).toMatchObject({
      value: {},
      origin: "default",
    });
  });

  test("a config.yaml that is a link stays a link", async () => {
    await using home = await tempHome();
    await mkdir(home.path);
    const real = join(home.folder, "dotfiles.yaml");
    await writeFile(real, "terminal:\n  timeout: 5\n");
    await symlink(real, join(home.path, "config.yaml"));
    expect((await home.hermes(["config", "set", "terminal.timeout", "6"])).exitCode).toBe(0);
    expect(await readFile(real, "utf8")).toBe("terminal:\n  timeout: 6\n");
  });

  test("edit keeps the old file if the new text is invalid, and says where the new text was saved", async () => {
    await using home = await homeWith({ "config.yaml": "terminal:\n  timeout: 5\n" });
    const bad = await home.hermes(["config", "edit"], { env: { EDITOR: "sed -i s/5/soon/" } });
    expect(bad.exitCode).toBe(78);
    expect(bad.stderr).toMatch(/Your version is in .*draft/);
    expect(await readFile(join(home.path, "config.yaml"), "utf8")).toBe("terminal:\n  timeout: 5\n");
    const good = await home.hermes(["config", "edit"], { env: { VISUAL: "sed -i s/5/55/" } });
    expect(good.exitCode).toBe(0);
    expect(await readFile(join(home.path, "config.yaml"), "utf8")).toBe("terminal:\n  timeout: 55\n");
  });
});
