import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { countTokens } from "gpt-tokenizer/encoding/o200k_base";
import { describe, expect, it } from "vitest";
import type { ScriptInput } from "../../src/providers/scripted/script.ts";
import { tempHome } from "../support/hermes.ts";
import { startScriptedServer } from "../support/scripted-server.ts";

type Home = Awaited<ReturnType<typeof tempHome>>;

/** Runs one task in the home's folder with a scripted server; also returns the requests to the server. */
async function runTask(home: Home, answers: ScriptInput["answers"], more: readonly string[] = []) {
  await using server = await startScriptedServer({ answers });
  const project = join(home.folder, "project");
  await mkdir(project, { recursive: true });
  const model = ["--model.base_url", `${server.url}/v1`, "-m", "custom:some-model"];
  const result = await home.hermes([...model, ...more, "-z", "do it"], { cwd: project });
  const results = server.requests.at(-1)?.body.messages.filter(({ role }) => role === "tool") ?? [];
  return {
    ...result,
    project,
    requests: server.requests,
    results: results.map(({ content }) => String(content)),
  };
}

const call = (name: string, input: Record<string, unknown>) => ({ tools: [{ name, input }] });

describe("the tools in a whole run", () => {
  it("write, read, change, find and run in the same environment, and name files by absolute path", async () => {
    await using home = await tempHome();
    const { stdout, exitCode, project, results } = await runTask(home, [
      call("write_file", { path: "src/a.js", content: "console.log(1);\n" }),
      call("read_file", { path: "src/a.js" }),
      call("patch", { path: "src/a.js", old_string: "1", new_string: "41 + 1" }),
      call("search_files", { pattern: "41" }),
      call("terminal", { command: "cd src && node a.js" }),
      call("read_file", { path: "a.js" }),
      call("todo", { todos: [{ id: 1, content: "prove it", status: "completed" }] }),
      { text: "done" },
    ]);
    expect({ stdout, exitCode }).toEqual({ stdout: "done\n", exitCode: 0 });
    const [written, read, patched, found, ran, again, plan] = results;
    expect(written).toBe(`created ${project}/src/a.js`);
    expect(read).toBe(`1|console.log(1);\n[${project}/src/a.js]`);
    expect(patched).toContain(`changed ${project}/src/a.js`);
    expect(found).toContain("src/a.js:1:console.log(41 + 1);");
    expect(ran).toBe(`exit_code: 0\ncwd: ${project}/src\n\n42`);
    expect(again).toContain("1|console.log(41 + 1);");
    expect(JSON.parse(plan ?? "")).toMatchObject({ counts: { total: 1, completed: 1 } });
    expect(await readFile(join(project, "src/a.js"), "utf8")).toBe("console.log(41 + 1);\n");
  });

  it("each call of an answer sees the effects of the previous calls: a write, six patches of the file, a command that prints it", async () => {
    await using home = await tempHome();
    const tools = [
      { name: "write_file", input: { path: "a.txt", content: "0\n1\n2\n3\n4\n5\n" } },
      ...Array.from({ length: 6 }, (_, line) => ({
        name: "patch",
        input: { path: "a.txt", old_string: `${line}`, new_string: `line ${"abcdef"[line]}` },
      })),
      { name: "terminal", input: { command: "cat a.txt | tr '\\n' ' '" } },
      { name: "read_file", input: { path: "a.txt" } },
    ];
    const { results } = await runTask(home, [{ tools }, { text: "done" }]);
    expect(results.at(-2)).toContain("line a line b line c line d line e line f");
    expect(results.at(-1)).toContain("6|line f");
  });

  it("M4: no tool writes a redaction mark over the secret that it replaces", async () => {
    await using home = await tempHome();
    const project = join(home.folder, "project");
    await mkdir(project, { recursive: true });
    const secret = "host: a\npassword: hunter2hunter2\n";
    await writeFile(join(project, "sec.yaml"), secret);
    const mark = "«redacted:secret-value»";
    const { exitCode, results } = await runTask(home, [
      call("read_file", { path: "sec.yaml" }),
      call("write_file", { path: "sec.yaml", content: `host: b\npassword: ${mark}\n` }),
      call("patch", { path: "sec.yaml", old_string: "host: a", new_string: `host: ${mark}` }),
      call("patch", {
        patch: `--- a/sec.yaml\n+++ b/sec.yaml\n@@ -1 +1 @@\n-host: a\n+host: ${mark}\n`,
      }),
      { text: "done" },
    ]);
    expect(exitCode).toBe(0);
    expect(results[0]).toContain(`2|password: ${mark}`);
    for (const result of results.slice(1)) expect(result).toContain("redaction mark");
    expect(await readFile(join(project, "sec.yaml"), "utf8")).toBe(secret);
  });

  it("A4: calls in the style of other agents run, invalid calls get advice as their result, and the run continues", async () => {
    await using home = await tempHome();
    const { stdout, results } = await runTask(home, [
      { tools: [{ name: "terminal", input: '{"command": "ls' }] },
      call("terminal", { comand: "ls" }),
      { tools: [{ name: "bash", input: "{'cmd': 'echo understood', 'timeout': null,}" }] },
      call("terminl", {}),
      call("read_file", { path: ".env" }),
      { tools: [{ name: "Terminal", input: `{"command":${"[".repeat(200_000)}${"]".repeat(200_000)}}` }] },
      { text: "understood" },
    ]);
    expect(stdout).toBe("understood\n");
    expect(results[0]).toContain("not valid JSON");
    expect(results[1]).toContain("did you mean");
    expect(results[2]).toMatch(/^exit_code: 0\n.*\n\nunderstood$/);
    expect(results[3]).toContain('Did you mean "terminal"?');
    expect(results[4]).toMatch(/does not exist|credentials/);
    expect(results[5]).toContain("nested too deeply");
  });

  it("K6: a key of the profile never reaches the model, and the command gets the real value", async () => {
    await using home = await tempHome();
    const key = "zK8-some-token-value-41";
    await mkdir(home.path, { recursive: true });
    await writeFile(join(home.path, ".env"), `OPENAI_API_KEY=${key}\n`, { mode: 0o600 });
    const { requests } = await runTask(home, [
      call("terminal", { command: `echo ${key} | wc -c; echo ${key}` }),
      call("read_file", { path: join(home.path, ".env") }),
      { text: "done" },
    ]);
    const sent = JSON.stringify(requests.at(-1)?.body.messages.filter(({ role }) => role === "tool"));
    expect(sent).toContain("24");
    expect(sent).not.toContain(key);
  });

  it("C3: a later session finds what was said in an earlier one", async () => {
    await using home = await tempHome();
    await runTask(home, [{ text: "The zebra is in the stable." }]);
    const { results } = await runTask(home, [call("session_search", { query: "zebra" }), { text: "found" }]);
    expect(JSON.parse(results[0] ?? "")).toMatchObject({
      sessions: [{ matches: [{ message_id: 2, snippet: expect.stringContaining("zebra") }] }],
    });
  });

  it("C1: a disabled toolset is not offered to the model", async () => {
    await using home = await tempHome();
    const off = ["--agent.disabled_toolsets", '["terminal","session_search"]'];
    const { requests } = await runTask(home, [{ text: "ok" }], off);
    const names = toolsOf(requests[0]?.body).map((tool) => tool.function.name);
    expect(names).toEqual(["read_file", "write_file", "patch", "search_files", "todo"]);
  });

  it("D3: a job lasts as long as its session: after the session is deleted, the next command about jobs ends it", async () => {
    await using home = await tempHome();
    const start = [call("terminal", { command: "sleep 1357", background: true }), { text: "started" }];
    const listJobs = [call("process", { action: "list" }), { text: "listed" }];
    const { stdout, stderr } = await runTask(home, start);
    expect(stdout).toBe("started\n");
    expect(stderr).toMatch(
      /proc_\w+ is still running in the background: sleep 1357\n.*hermes sandbox jobs kill proc_/,
    );
    const running = async () =>
      (await home.hermes(["sandbox", "jobs", "--json"])).json<{ command: string }[]>();
    await runTask(home, listJobs);
    expect(await running()).toMatchObject([{ command: "sleep 1357" }]);
    expect(await home.hermes(["sessions", "delete", "--yes", await firstSession(home)])).toMatchObject({
      exitCode: 0,
    });
    expect(await running()).toHaveLength(1);
    await runTask(home, listJobs);
    expect(await running()).toEqual([]);
  });
});

describe("the beginning of every prompt", () => {
  it("M2: the system prompt and tools of the first request of a single run take at most 1,600 tokens", async () => {
    await using home = await tempHome();
    const { requests } = await runTask(home, [{ text: "ok" }]);
    const { body } = requests[0] ?? {};
    const [system] = body?.messages ?? [];
    expect(system?.role).toBe("system");
    expect(toolsOf(body)).toHaveLength(8);
    const tokens = countTokens(String(system?.content)) + countTokens(JSON.stringify(body?.["tools"]));
    expect(tokens).toBeLessThanOrEqual(1_600);
  });

  it("A11: the prompt contains the identity from SOUL.md and the instructions of the project", async () => {
    await using home = await tempHome();
    const project = join(home.folder, "project");
    for (const folder of [home.path, project]) await mkdir(folder, { recursive: true });
    await writeFile(join(home.path, "SOUL.md"), "You are Zoe.\n");
    await writeFile(join(project, "AGENTS.md"), "Use tabs.\n");
    const { requests } = await runTask(home, [{ text: "ok" }]);
    const system = String(requests[0]?.body.messages[0]?.content);
    expect(system).toMatch(/^You are Zoe\./);
    expect(system).toContain("Use tabs.");
  });

  it("M2: prompt-size prints the cost of each part, the largest first; their sum matches the request", async () => {
    await using home = await tempHome();
    const { requests, project } = await runTask(home, [{ text: "ok" }]);
    // The model that answered is not known to see images, so it gets no tool for them.
    const blind = ["--agent.image_input_mode", "text"];
    const size = await home.hermes([...blind, "prompt-size", "--json", "-m", "anthropic:claude-sonnet-4-5"], {
      cwd: project,
    });
    expect(size.exitCode).toBe(0);
    const { parts, tokens, context_tokens, share_of_window } = size.json<{
      parts: { kind: string; name: string; tokens: number }[];
      tokens: number;
      context_tokens: number;
      share_of_window: number;
    }>();
    expect(parts.map((part) => part.tokens)).toEqual(parts.map((part) => part.tokens).sort((a, b) => b - a));
    const { body } = requests[0] ?? {};
    const sent =
      countTokens(String(body?.messages[0]?.content)) + countTokens(JSON.stringify(body?.["tools"]));
    expect(Math.abs(tokens - sent)).toBeLessThan(sent * 0.05);
    expect(parts.filter(({ kind }) => kind === "tool")).toHaveLength(toolsOf(body).length);
    expect(context_tokens).toBe(200_000);
    expect(share_of_window).toBeCloseTo(tokens / 200_000);
  });

  it("M2: prompt-size prints a table, even before a model is chosen, and its help has examples", async () => {
    await using home = await tempHome();
    const table = await home.hermes(["prompt-size"], { cwd: home.folder });
    expect(table).toMatchObject({ exitCode: 0, stderr: "" });
    expect(table.stdout).toMatch(/^PART +TOKENS +SHARE\n/);
    for (const name of ["identity", "conduct", "environment", "tool terminal", "total"])
      expect(table.stdout).toMatch(new RegExp(`^${name} +\\d+`, "m"));
    const known = await home.hermes(["prompt-size", "-m", "anthropic:claude-sonnet-4-5"], {
      cwd: home.folder,
    });
    expect(known.stdout).toContain("of the window of claude-sonnet-4-5 (200000 tokens)");
    expect((await home.hermes(["prompt-size", "--help"])).stdout).toContain("Examples:");
  });
});

async function firstSession(home: Home): Promise<string> {
  const sessions = (await home.hermes(["sessions", "list", "--all", "--json"])).json<{ id: string }[]>();
  return sessions.at(-1)?.id ?? "";
}

interface SentTool {
  readonly function: { readonly name: string };
}

function toolsOf(body: { readonly [key: string]: unknown } | undefined): readonly SentTool[] {
  return (body?.["tools"] ?? []) as readonly SentTool[];
}
