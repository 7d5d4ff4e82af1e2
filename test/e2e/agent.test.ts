import { once } from "node:events";
import { existsSync } from "node:fs";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { AgentEvent } from "../../src/agent/events.ts";
import type { ScriptInput } from "../../src/providers/scripted/script.ts";
import { tempHome } from "../support/hermes.ts";
import { type Misbehaviour, startScriptedServer } from "../support/scripted-server.ts";

type Home = Awaited<ReturnType<typeof tempHome>>;

/** Runs the program on a script instead of a model. */
async function withScript(home: Home, script: ScriptInput, args: readonly string[], stdin?: string) {
  const path = join(home.folder, "script.json");
  await writeFile(path, JSON.stringify(script));
  return home.hermes([...args, "-m", `scripted:${path}`], {
    cwd: home.folder,
    ...(stdin !== undefined && { stdin }),
  });
}

const tool = (command: string) => ({ tools: [{ name: "terminal", input: { command } }] });

describe("hermes -z", () => {
  test("prints the answer and nothing else", async () => {
    await using home = await tempHome();
    const run = await withScript(home, { answers: [tool("echo from the tool"), { text: "the answer" }] }, [
      "-z",
      "go",
    ]);
    expect(run).toMatchObject({ exitCode: 0, stdout: "the answer\n", stderr: "" });
  });

  test("a home that is removed during the run ends it with an error that names what can no longer be stored and where", async () => {
    await using home = await tempHome();
    const answers = [tool(`rm -rf ${home.path}; echo removed`), { text: "all is well" }];
    const run = await withScript(home, { answers }, ["-z", "go", "--yolo"]);
    expect(run).toMatchObject({ exitCode: 1, stdout: "" });
    const file = join(home.path, "sessions.sqlite");
    expect(run.stderr).toContain(
      `hermes: The transcript of this run can no longer be stored: ${file} was removed during the run.`,
    );
    expect(run.stderr).toContain("cannot be resumed");
  });

  test("SIGUSR1 neither opens a debugger port nor ends the process", async () => {
    await using home = await tempHome();
    const path = join(home.folder, "script.json");
    const wait = "touch started; while [ ! -e go ]; do sleep 0.05; done";
    await writeFile(path, JSON.stringify({ answers: [tool(wait), { text: "still here" }] }));
    const { child, ended } = home.start(["-z", "go", "-m", `scripted:${path}`], { cwd: home.folder });
    await expect.poll(() => existsSync(join(home.folder, "started")), { timeout: 60_000 }).toBe(true);
    child.kill("SIGUSR1");
    await writeFile(join(home.folder, "go"), "");
    expect(await ended).toMatchObject({ exitCode: 0, stdout: "still here\n", stderr: "" });
  });

  test("a cut, refused or empty answer is a failure with a message", async () => {
    await using home = await tempHome();
    const cutCall = {
      tools: [{ name: "write_file", input: '{"path": "a", "con' }],
      finish: "length" as const,
    };
    const script: ScriptInput = {
      turns: [
        { when: "cut", answers: [{ ...cutCall, times: 9 }] },
        { when: "refuse", answers: [{ finish: "content-filter" }] },
        { when: "silence", answers: [{ text: " ", fail: { kind: "empty", message: "lab was silent." } }] },
        { when: "go on", answers: [{ text: "still here" }] },
      ],
    };
    const env = { HERMES_AGENT_API_MAX_RETRIES: "0" };
    const path = join(home.folder, "script.json");
    await writeFile(path, JSON.stringify(script));
    const run = (...args: readonly string[]) =>
      home.hermes([...args, "-m", `scripted:${path}`], { cwd: home.folder, env });
    expect(await run("-z", "cut")).toMatchObject({
      exitCode: 4,
      stdout: "",
      stderr: expect.stringMatching(
        /The call to write_file was cut off by the model's output limit.\n {2}Raise model/,
      ),
    });
    expect(await run("-c", "-z", "refuse")).toMatchObject({
      exitCode: 5,
      stdout: "",
      stderr: expect.stringContaining("a content filter stopped it"),
    });
    expect(await run("-c", "-z", "silence")).toMatchObject({
      exitCode: 1,
      stdout: "",
      stderr: expect.stringContaining("lab was silent."),
    });
    expect(await run("-c", "-z", "go on")).toMatchObject({ exitCode: 0, stdout: "still here\n", stderr: "" });
  });

  test("takes piped input as part of the task", async () => {
    await using home = await tempHome();
    const script = { turns: [{ when: "<input>\npiped words\n</input>", answers: [{ text: "seen" }] }] };
    expect(await withScript(home, script, ["-z", "look"], "piped words")).toMatchObject({
      exitCode: 0,
      stdout: "seen\n",
    });
  });

  test("prints one event per line with --json, in chronological order", async () => {
    await using home = await tempHome();
    const run = await withScript(home, { answers: [tool("echo hi"), { text: "done" }] }, [
      "-z",
      "go",
      "--json",
    ]);
    const events = run.stdout
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as AgentEvent | { type: "session" });
    expect(events.map(({ type }) => type)).toEqual([
      "session",
      "turn-start",
      "request-sent",
      "tool-call-start",
      "assistant",
      "tools-start",
      "tool-end",
      "request-sent",
      "text-delta",
      "assistant",
      "turn-end",
    ]);
    expect(events[0]).toMatchObject({ version: 1, provider: "scripted" });
  });

  test("resumes the latest session, and writes its usage to a file", async () => {
    await using home = await tempHome();
    const script = {
      turns: [
        { when: "first", answers: [{ text: "one", usage: { input: 10, output: 2 } }] },
        { when: "second", answers: [{ text: "two", usage: { input: 30, output: 4 } }] },
      ],
    };
    const first = await withScript(home, script, ["-z", "first", "--json"]);
    const second = await withScript(home, script, [
      "-c",
      "-z",
      "second",
      "--json",
      "--usage-file",
      "usage.json",
    ]);
    const idOf = (run: typeof first): string =>
      (JSON.parse(run.stdout.split("\n")[0] ?? "{}") as { sessionId: string }).sessionId;
    expect(idOf(second)).toBe(idOf(first));
    expect(JSON.parse(await readFile(join(home.folder, "usage.json"), "utf8"))).toMatchObject({
      session_id: idOf(first),
      provider: "scripted",
      outcome: "completed",
      requests: 1,
      input_tokens: 30,
      output_tokens: 4,
    });
  });

  test("ends with 3 at a limit, with the output so far", async () => {
    await using home = await tempHome();
    const script = { answers: [tool("echo 1"), tool("echo 2"), { text: "so far" }] };
    const run = await withScript(home, script, ["-z", "go", "--max-turns", "2"]);
    expect(run).toMatchObject({
      exitCode: 3,
      stdout: "so far\n",
      stderr: expect.stringContaining("limit of 2 steps"),
    });
  });

  test.each([
    [["-z", ""], "empty"],
    [["-z", "a", "-q", "b"], "more than one task"],
    [["-z", "a", "-z", "b"], "more than one task"],
    [["-c"], "no task"],
    [["-z", "a", "--max-turns", "0"], "whole number"],
    [["-z", "a", "-r", "nothing like it"], "no session"],
    [["-z", "a", "--query-file", "/nonexistent"], "more than one task"],
    [["chat", "--query-file", "/nonexistent"], "cannot be read"],
  ])("wrong arguments %j are reported in one line", async (args, said) => {
    await using home = await tempHome();
    const run = await withScript(home, { answers: [] }, args);
    expect(run.exitCode).not.toBe(0);
    expect(run.stdout).toBe("");
    expect(run.stderr.toLowerCase()).toContain(said);
  });

  test("without a model the error says what to do", async () => {
    await using home = await tempHome();
    const run = await home.hermes(["-z", "go"], { cwd: home.folder });
    expect(run).toMatchObject({ exitCode: 78, stdout: "" });
    expect(run.stderr).toMatch(/key|provider/i);
  });
});

test.each([
  ["chat_completions", "/v1", "/v1/chat/completions"],
  ["anthropic_messages", "/anthropic", "/anthropic/v1/messages"],
])("a server that speaks %s works", async (mode, address, asked) => {
  await using home = await tempHome();
  await using server = await startScriptedServer({ answers: [tool("echo hi"), { text: "done" }] });
  const env = {
    HERMES_MODEL_BASE_URL: `${server.url}${address}`,
    HERMES_MODEL_API_MODE: mode,
    HERMES_MODEL_DEFAULT: "some-model",
    OPENAI_API_KEY: "none-needed",
  };
  const run = await home.hermes(["-z", "go"], { cwd: home.folder, env });
  expect(run).toMatchObject({ exitCode: 0, stdout: "done\n", stderr: "" });
  expect(server.requests.map(({ path }) => path)).toEqual([asked, asked]);
});

describe("a model that misbehaves", () => {
  test.each([
    ["an unknown tool", { tools: [{ name: "no_such_tool", input: {} }] }, "There is no tool"],
    ["half JSON", { tools: [{ name: "terminal", input: '{"command": "ec' }] }, "not valid JSON"],
    ["garbage instead of an object", { tools: [{ name: "terminal", input: '"rm"' }] }, "one JSON object"],
    ["a missing argument", { tools: [{ name: "terminal", input: {} }] }, "is missing"],
    ["a command that is never allowed", tool("rm -rf /"), "Refused"],
    ["a huge result", tool("yes | head -c 50000000"), "Output truncated"],
  ])("%s gets a result that the model can act on", async (_, answer, said) => {
    await using home = await tempHome();
    const run = await withScript(home, { answers: [answer, { text: "went on" }] }, ["-z", "go", "--json"]);
    expect(run.exitCode).toBe(0);
    const line = run.stdout.split("\n").find((text) => text.startsWith('{"type":"tool-end"')) ?? "";
    expect(line).toContain(said);
    expect(line.length).toBeLessThan(200_000);
  });
});

/** A home whose model is a server. */
async function withServer(script: ScriptInput, misbehave: (index: number) => Misbehaviour | undefined) {
  const home = await tempHome();
  const server = await startScriptedServer(script, { misbehave });
  return { home, server, env: serverEnv(server.url), [Symbol.asyncDispose]: () => disposeAll(home, server) };
}

async function disposeAll(...all: readonly AsyncDisposable[]): Promise<void> {
  for (const one of all) await one[Symbol.asyncDispose]();
}

function serverEnv(url: string): Record<string, string> {
  return {
    HERMES_MODEL_PROVIDER: "custom",
    HERMES_MODEL_BASE_URL: `${url}/v1`,
    HERMES_MODEL_DEFAULT: "m",
    OPENAI_API_KEY: "sk-test-never-shown",
    HERMES_AGENT_API_MAX_RETRIES: "1",
  };
}

const status = (code: number, body: string, headers?: Record<string, string>): Misbehaviour => ({
  type: "answer",
  status: code,
  body,
  ...(headers && { headers }),
});
const says = (message: string): string => JSON.stringify({ error: { message } });

describe("a server that misbehaves", () => {
  test.each<[string, Misbehaviour, RegExp]>([
    ["401", status(401, says("bad key")), /key/i],
    ["402", status(402, says("no credit")), /credit|money|plan|quota/i],
    ["429 every time", status(429, says("slow down"), { "retry-after": "1" }), /rate|slow/i],
    ["500 every time", status(500, says("oops")), /500|broke|unavailable|oops/i],
    ["HTML", status(200, "<html>hello</html>", { "content-type": "text/html" }), /html|format|answer/i],
    [
      "a window that is full",
      status(400, says("Trying to keep the first 5000 tokens when context the overflows.")),
      /does not fit into the model's window[\s\S]*hermes -c -m MODEL/,
    ],
    ["a stream that is cut", { type: "cut", after: 1, how: "destroy" }, /ended|cut|broke|whole/i],
  ])(
    "%s gives one clear error line; nothing ran, and the session can be continued",
    async (_, wrong, said) => {
      let isBroken = true;
      await using lab = await withServer(
        {
          turns: [
            { when: "go", answers: [tool("echo x > ran.txt"), { text: "done" }] },
            { when: "again", answers: [{ text: "fine" }] },
          ],
        },
        () => (isBroken ? wrong : undefined),
      );
      const { home, env } = lab;
      const run = await home.hermes(["-z", "go"], { cwd: home.folder, env });
      expect(run).toMatchObject({ exitCode: 1, stdout: "" });
      expect(run.stderr).toMatch(said);
      expect(run.stderr).not.toContain("sk-test-never-shown");
      await expect(readFile(join(home.folder, "ran.txt"))).rejects.toThrow();
      isBroken = false;
      expect(await home.hermes(["-c", "-z", "again"], { cwd: home.folder, env })).toMatchObject({
        exitCode: 0,
        stdout: "fine\n",
      });
    },
  );

  test.each<[string, Misbehaviour]>([
    ["fails for a moment", status(503, says("busy"))],
    ["breaks the connection in the middle of the text", { type: "cut", after: 1, how: "destroy" }],
  ])("a request to a server that %s is repeated, because no text was shown yet", async (_, wrong) => {
    await using lab = await withServer({ answers: [{ text: "fine", chunk: 2 }] }, (index) =>
      index === 0 ? wrong : undefined,
    );
    const { home, env } = lab;
    const run = await home.hermes(["-z", "go"], { cwd: home.folder, env });
    expect(run).toMatchObject({
      exitCode: 0,
      stdout: "fine\n",
      stderr: expect.stringContaining("Trying again"),
    });
  });

  test("a request is not repeated if the connection breaks after text was shown", async () => {
    await using lab = await withServer({ answers: [{ text: "fine", chunk: 2 }] }, () => ({
      type: "cut",
      after: 1,
      how: "destroy",
    }));
    const { home, env } = lab;
    const run = await home.hermes(["chat", "-q", "go"], { cwd: home.folder, env });
    expect(run).toMatchObject({ exitCode: 1, stdout: "fi\n", stderr: expect.stringContaining("broke") });
  });

  test("a request to a server that hangs is aborted after the configured timeout", async () => {
    await using lab = await withServer({ answers: [{ text: "never" }] }, () => ({
      type: "hang",
      after: "headers",
    }));
    const { home, server } = lab;
    await mkdir(home.path, { recursive: true });
    const config = `model: {provider: mine, default: m}\nproviders: {mine: {base_url: "${server.url}/v1", stale_timeout_seconds: 1}}\n`;
    await writeFile(join(home.path, "config.yaml"), config);
    const run = await home.hermes(["-z", "go"], {
      cwd: home.folder,
      env: { HERMES_AGENT_API_MAX_RETRIES: "0" },
    });
    expect(run).toMatchObject({ exitCode: 1, stdout: "" });
    expect(run.stderr).toMatch(/silent|nothing|wait|answer/i);
  });

  test("a server that does not exist is reported with what to check", async () => {
    await using home = await tempHome();
    const closed = await new Promise<number>((resolve) => {
      const server = createServer().listen(0, "127.0.0.1", () => {
        const { port } = server.address() as AddressInfo;
        server.close(() => resolve(port));
      });
    });
    const env = { ...serverEnv(`http://127.0.0.1:${closed}`), HERMES_AGENT_API_MAX_RETRIES: "0" };
    const run = await home.hermes(["-z", "go"], { cwd: home.folder, env });
    expect(run).toMatchObject({ exitCode: 1, stdout: "", stderr: expect.stringContaining("base_url") });
  });
});

describe("concurrent processes, and a stop", () => {
  const SLEEP = "echo $$ > pid.txt; sh -c 'sleep 1000 & sleep 1000'";

  async function startSleeping(home: Home) {
    const path = join(home.folder, "script.json");
    const script = {
      turns: [
        { when: "sleep", answers: [tool(SLEEP), { text: "slept" }] },
        { when: "other", answers: [{ text: "ok" }] },
      ],
    };
    await writeFile(path, JSON.stringify(script));
    const { child, ended } = home.start(["-z", "sleep", "-m", `scripted:${path}`], { cwd: home.folder });
    await expect
      .poll(() => readFile(join(home.folder, "pid.txt"), "utf8").catch(() => ""), { timeout: 150_000 })
      .toMatch(/\d/);
    return { child, ended, path };
  }

  test("a second process on the same session is refused with the name of the holder; the first continues", async () => {
    await using home = await tempHome();
    const { child, ended, path } = await startSleeping(home);
    const second = await home.hermes(["-c", "-z", "other", "-m", `scripted:${path}`], { cwd: home.folder });
    expect(second).toMatchObject({
      exitCode: 1,
      stdout: "",
      stderr: expect.stringContaining(`process ${child.pid}`),
    });
    child.kill("SIGINT");
    expect((await ended).exitCode).toBe(130);
  });

  test.each([
    ["SIGINT", 130],
    ["SIGQUIT", 131],
  ] as const)(
    "M7: %s ends the command with its whole process tree, the transcript stays valid, and the session can be resumed",
    async (signal, exitCode) => {
      await using home = await tempHome();
      const { child, ended, path } = await startSleeping(home);
      child.kill(signal);
      const stderr = expect.stringMatching(/Resume it with: hermes -r \S+ -z/);
      expect(await ended).toMatchObject({ exitCode, stderr });
      const group = Number(await readFile(join(home.folder, "pid.txt"), "utf8"));
      await expect.poll(() => isAlive(group), { timeout: 150_000 }).toBe(false);
      const next = await home.hermes(["-c", "-z", "other", "-m", `scripted:${path}`], { cwd: home.folder });
      expect(next).toMatchObject({ exitCode: 0, stdout: "ok\n", stderr: "" });
    },
  );
});

test("M7: text that was streamed before Ctrl-C is in the session, marked as incomplete", async () => {
  await using home = await tempHome();
  await using server = await startScriptedServer(
    { answers: [{ text: "the first half of a long answer", chunk: 4 }] },
    { misbehave: () => ({ type: "hang", after: 4 }) },
  );
  const { child, ended } = home.start(
    ["chat", "-q", "go", "--model.base_url", `${server.url}/v1`, "-m", "m"],
    {
      cwd: home.folder,
    },
  );
  let shown = "";
  child.stdout.on("data", (text: string) => {
    shown += text;
  });
  await expect.poll(() => shown, { timeout: 150_000 }).toContain("the first");
  child.kill("SIGINT");
  expect((await ended).exitCode).toBe(130);
  const { stdout } = await home.hermes(["sessions", "show", "latest"]);
  expect(stdout).toContain("the first");
  expect(stdout).toContain("[Cut off: The turn was stopped.]");
});

describe("a reader that closes the pipe", () => {
  const script = { answers: [{ ...tool("echo ran >> effects.txt; sleep 0.2"), times: 8 }, { text: "done" }] };

  async function startWorking(home: Home, args: readonly string[]) {
    const path = join(home.folder, "script.json");
    await writeFile(path, JSON.stringify(script));
    return home.start([...args, "-m", `scripted:${path}`], { cwd: home.folder });
  }

  test("stops the turn, which is recorded, and the run ends with 141", async () => {
    await using home = await tempHome();
    const { child, ended } = await startWorking(home, ["-z", "go", "--json"]);
    const effects = () => readFile(join(home.folder, "effects.txt"), "utf8").catch(() => "");
    await expect.poll(effects).toContain("ran");
    child.stdout.destroy();
    expect(await ended).toMatchObject({ exitCode: 141, stderr: "" });
    expect((await effects()).split("\n").length).toBeLessThan(8);
    const messages = (await home.hermes(["sessions", "export", "latest"])).stdout.trim().split("\n");
    expect(messages.at(-1)).toMatch(/the turn was stopped/i);
  });

  test("of standard error only does not stop the turn", async () => {
    await using home = await tempHome();
    const { child, ended } = await startWorking(home, ["chat", "-q", "go"]);
    await once(child.stderr, "data");
    child.stderr.destroy();
    expect(await ended).toMatchObject({ exitCode: 0, stdout: "done\n" });
  });
});

function isAlive(pid: number): boolean {
  try {
    process.kill(-pid, 0);
    return true;
  } catch {
    return false;
  }
}
