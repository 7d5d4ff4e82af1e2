import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { tempHome } from "../support/hermes.ts";
import { startScriptedServer } from "../support/scripted-server.ts";

interface Insights {
  readonly days: readonly Record<string, unknown>[];
  readonly models: readonly Record<string, unknown>[];
  readonly tools: readonly Record<string, unknown>[];
}

/** A home in which one task was run: two requests, one call that works and one that fails. */
async function openUsedHome() {
  const usage = { input: 1_000, cache_read: 600, output: 50 };
  const server = await startScriptedServer({
    answers: [
      {
        tools: [
          { name: "terminal", input: { command: "echo one" } },
          { name: "read_file", input: { path: "missing.txt" } },
        ],
        usage,
      },
      { text: "Done.", usage, times: 9 },
    ],
  });
  const home = await tempHome();
  await mkdir(home.path);
  const lab = {
    base_url: `${server.url}/v1`,
    models: { m: { price: { input: 1_000, output: 2_000, cache_read: 100 } } },
  };
  const config = {
    model: { provider: "lab", default: "m" },
    providers: { lab },
    auxiliary: { title_generation: { enabled: false } },
  };
  await writeFile(join(home.path, "config.yaml"), JSON.stringify(config));
  const run = await home.hermes(["-z", "go"], { cwd: home.folder });
  expect(run).toMatchObject({ exitCode: 0, stdout: "Done.\n" });
  return {
    ...home,
    async [Symbol.asyncDispose]() {
      await server[Symbol.asyncDispose]();
      await home[Symbol.asyncDispose]();
    },
  };
}

test("insights sum up tokens, cost, cache, turns and tools by day and model; branches are not counted twice", async () => {
  await using home = await openUsedHome();
  await home.hermes(["sessions", "branch", "latest"]);
  const found = (await home.hermes(["insights", "--json"])).json<Insights>();
  const totals = {
    requests: 2,
    inputTokens: 2_000,
    outputTokens: 100,
    cacheReadTokens: 1_200,
    cacheShare: 0.6,
  };
  expect(found.days).toEqual([expect.objectContaining({ ...totals, turns: 1 })]);
  expect(found.models).toEqual([expect.objectContaining({ ...totals, name: "lab/m" })]);
  expect(found.models[0]?.["costUsd"]).toBeCloseTo(1.12); // 800 fresh and 1,200 cached tokens in, 100 out
  expect(found.tools).toEqual([
    expect.objectContaining({ name: "read_file", calls: 1, failed: 1 }),
    expect.objectContaining({ name: "terminal", calls: 1, failed: 0 }),
  ]);
  const { stdout } = await home.hermes(["insights", "--since", "2d"]);
  expect(stdout).toMatch(/^DAY +IN +OUT .*\n\d{4}-\d\d-\d\d +2k +100 +60 % +\$1\.12 +1 +\S+s +▇{20}$/m);
  expect(stdout).toMatch(/^lab\/m +2 +2k /m);
  expect(stdout).toMatch(/^terminal +1 +0 /m);
});

test("insights of an unused home, and since a later day, are empty and create nothing", async () => {
  await using home = await tempHome();
  expect((await home.hermes(["insights", "--json"])).json()).toMatchObject({
    days: [],
    models: [],
    tools: [],
  });
  expect((await home.hermes(["insights"])).stdout).toMatch(/^No requests since \d{4}-/);
  expect(await home.hermes(["insights", "--since", "soon"])).toMatchObject({ exitCode: 2 });
});

test("tools are listed with their state, the surfaces that offer them, and their tokens", async () => {
  await using home = await tempHome();
  interface Row {
    readonly tool: string;
    readonly enabled: boolean;
    readonly offered_to: readonly string[];
    readonly tokens: number;
  }
  const list = async (...flags: string[]) =>
    new Map((await home.hermes([...flags, "tools", "--json"])).json<Row[]>().map((row) => [row.tool, row]));
  const all = await list();
  expect(all.get("terminal")).toMatchObject({
    enabled: true,
    offered_to: ["chat", "-z", "gateway", "API", "board"],
  });
  expect(all.get("terminal")?.tokens).toBeGreaterThan(50);
  expect(all.get("clarify")?.offered_to).toEqual(["chat", "gateway", "API", "board"]);
  expect(all.get("kanban_complete")?.offered_to).toEqual(["board"]);
  const fewer = await list("--agent.disabled_toolsets", '["todo"]', "--approvals.single_query_mode", "ask");
  expect(fewer.get("todo")?.enabled).toBe(false);
  expect(fewer.get("clarify")?.offered_to).toEqual(["chat", "-z", "gateway", "API", "board"]);
  const text = await home.hermes(["--agent.disabled_toolsets", '["tood"]', "tools"]);
  expect(text.stdout).toMatch(/^9 tools with \d+ tokens in every request of a chat\.$/m);
  expect(text.stderr).toContain("agent.disabled_toolsets names no toolset: tood");
});
