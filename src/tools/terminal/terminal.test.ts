import { readFile } from "node:fs/promises";
import { afterAll, beforeAll, expect, it } from "vitest";
import { longEnough } from "../../../test/support/long-enough.ts";
import {
  openLocalTestEnvironment,
  openToolLab,
  SECRET,
  type TestEnvironment,
  type ToolLabOptions,
} from "../../../test/support/tool-lab.ts";
import { AppError } from "../../lib/errors.ts";

let testEnvironment: TestEnvironment;
beforeAll(async () => {
  testEnvironment = await openLocalTestEnvironment();
});
afterAll(() => testEnvironment[Symbol.asyncDispose]());

async function terminal(input: object, options: ToolLabOptions = {}) {
  await using own = await openToolLab(testEnvironment, options);
  const result = await own.call("terminal", input);
  return { failed: result.failed, ...result.json() } as Record<string, unknown>;
}

it("D1, C3: output of both streams, exit code and no error", async () => {
  expect(await terminal({ command: "echo out; echo err >&2" })).toEqual({
    failed: false,
    output: "out\nerr",
    exit_code: 0,
    error: null,
  });
});

it("a command that may still run after its timeout is not reported as ended", async () => {
  const result = await terminal(
    { command: "sleep 300", timeout: 3 },
    {
      intercept: async () => ({
        ended: "timed-out",
        exitCode: 124,
        badWorkdir: false,
        cwd: undefined,
        survivors: undefined,
        notices: [],
        durationMs: 3_000,
      }),
    },
  );
  expect(result["error"]).toBe(
    "Timed out after 3 s; it is unknown whether it and its children have ended. Allow more time, or use background: true.",
  );
});

it("output with CR line ends is kept completely, and a progress line is reduced to its last state", async () => {
  const csv = await terminal({ command: "printf 'id,name\\r1,Ann\\r2,Bob\\r3,Cid'" });
  expect(csv["output"]).toBe("id,name\r1,Ann\r2,Bob\r3,Cid");
  const bar = "awk 'BEGIN { for (i = 1; i <= 5000; i++) printf \"\\rloading %d/5000 ...\", i }'";
  const progress = await terminal({ command: `echo first; ${bar}; echo; echo last` });
  expect(progress["output"]).toBe(
    "first\n\rloading 5000/5000 ... [4999 earlier states of this line are omitted]\nlast",
  );
  expect(progress["full_output_path"]).toBeUndefined();
});

it("D1: folder and exported variables persist across calls, and the result names a new folder", async () => {
  await using own = await openToolLab(testEnvironment);
  await own.sh("mkdir sub");
  const moved = await own.call("terminal", { command: "cd sub; export A=kept; B=lost" });
  expect(moved.json()["cwd"]).toBe(`${own.folder}/sub`);
  const { output, cwd } = (await own.call("terminal", { command: 'pwd; echo "$A$B"' })).json();
  expect({ output, cwd }).toEqual({ output: `${own.folder}/sub\nkept`, cwd: undefined });
});

it("D1: workdir is relative to the session's folder, may have any usual name, and becomes the session's folder", async () => {
  await using own = await openToolLab(testEnvironment);
  await own.sh("mkdir -p 'a (1) é/sub'");
  const inside = await own.call("terminal", { command: "pwd", workdir: "a (1) é" });
  expect(inside.json()).toMatchObject({ output: `${own.folder}/a (1) é`, cwd: `${own.folder}/a (1) é` });
  const deeper = await own.call("terminal", { command: "pwd", workdir: "sub" });
  expect(deeper.json()["output"]).toBe(`${own.folder}/a (1) é/sub`);
  const there = await own.call("terminal", { command: "pwd", workdir: own.folder });
  expect(there.json()["output"]).toBe(own.folder);
});

it.each(["a;b", "$HOME", "a`b", "a\nb", "a|b", "a'b"])(
  "D1: workdir %j is blocked, and the character is named",
  async (workdir) => {
    const result = await terminal({ command: "touch ran", workdir });
    expect(result).toMatchObject({ failed: true, exit_code: -1, status: "blocked" });
    expect(result["error"]).toContain("workdir may not contain");
  },
);

it("D1: a missing workdir is reported, and the command is not run", async () => {
  const result = await terminal({ command: "echo ran", workdir: "nowhere" });
  expect(result).toMatchObject({ failed: true, output: "", exit_code: 126 });
  expect(result["error"]).toContain("nowhere does not exist");
});

it("D1: a timeout above the cap is refused with a hint, and nothing is run", async () => {
  await using own = await openToolLab(testEnvironment, {
    limits: { timeout: 180, maxForegroundTimeout: 600 },
  });
  const result = await own.call("terminal", { command: "touch ran", timeout: 601 });
  expect(result.json()).toMatchObject({
    exit_code: -1,
    error: expect.stringMatching(/600 s.*background: true/),
  });
  expect(await own.sh("ls")).toBe("");
});

it("D1: a command that times out is ended with its children, and its output is kept", async () => {
  const { result, timeout } = await longEnough(
    [1, 20, 60],
    async (timeout) => ({ timeout, result: await terminal({ command: "echo begun; sleep 300", timeout }) }),
    ({ result }) => result["output"] !== "",
  );
  expect(result).toMatchObject({ failed: true, output: "begun", exit_code: 124 });
  expect(result["error"]).toContain(`Timed out after ${timeout} s`);
});

it.each([
  ["grep absent /dev/null", 1, false, "no matches"],
  ["sh -c 'kill -9 $$'", 137, true, "SIGKILL"],
  ["kill -9 $$", 137, true, "SIGKILL"],
  ["kill $$", 143, true, "SIGTERM"],
  ["kill $$; sleep 300", 143, true, "SIGTERM"],
  ["kill -HUP $$; true", 129, true, "SIGHUP"],
  ["kill -INT $$", 130, true, "SIGINT"],
  ["echo hi; kill -SEGV $$", 139, true, "SIGSEGV"],
  ["no-such-program-x", 127, true, "command not found"],
])("C3: the exit code of %j is explained", async (command, code, failed, meaning) => {
  const result = await terminal({ command });
  expect(result).toMatchObject({ failed, exit_code: code, error: null });
  expect(result["exit_code_meaning"]).toContain(meaning);
});

it("D1: a command that would leave processes behind is refused; one that probably does not exit runs with a hint", async () => {
  expect(await terminal({ command: "sleep 300 &" })).toMatchObject({ exit_code: -1, status: "error" });
  const result = await terminal({ command: "npm() { echo served; }; npm start" });
  expect(result).toMatchObject({ failed: false, output: "served" });
  expect(result["hint"]).toContain("background: true");
});

it("D1: a background command that has started is running, and has no exit code yet", async () => {
  const result = await terminal({ command: "sleep 300", background: true });
  expect(result).toMatchObject({
    failed: false,
    status: "running",
    session_id: expect.stringMatching(/^proc_/),
  });
  expect(result).not.toHaveProperty("exit_code");
});

it.each([5, null, { a: 1 }])("D1: the command %j returns exit code -1 and status error", async (command) => {
  expect(await terminal({ command })).toMatchObject({
    failed: true,
    exit_code: -1,
    status: "error",
    output: "",
  });
});

it("lookUp reports by call id whether a command is still running", async () => {
  await using own = await openToolLab(testEnvironment);
  const tool = own.tools.get("terminal");
  const stop = new AbortController();
  const context = { callId: "c7", signal: stop.signal, onProgress: () => undefined };
  const running = tool?.call('{"command":"touch begun; sleep 300"}', context);
  await expect.poll(() => own.sh("ls")).toContain("begun");
  expect(await tool?.lookUp?.("c7", AbortSignal.timeout(60_000))).toMatch(/still running.*: process \d+/);
  stop.abort();
  await running;
  expect(await tool?.lookUp?.("c7", AbortSignal.timeout(60_000))).toBe("None of its processes is running.");
});

it("the last line before a silence is reported while the command still runs", async () => {
  await using own = await openToolLab(testEnvironment);
  const stop = new AbortController();
  const reported: string[] = [];
  const context = {
    callId: "c8",
    signal: stop.signal,
    onProgress(text: string) {
      reported.push(text);
      if (text === "waiting") stop.abort();
    },
  };
  await own.tools.get("terminal")?.call('{"command":"echo first; echo waiting; sleep 300"}', context);
  expect(reported.at(-1)).toBe("waiting");
});

it("D1: a NUL byte in a command is refused without a crash", async () => {
  expect(await terminal({ command: "echo a\0b" })).toMatchObject({ failed: true, exit_code: -1 });
  expect(await terminal({ command: "echo a\0b", background: true })).toMatchObject({
    failed: true,
    exit_code: -1,
  });
});

it("D1, K6: output has no colours and no secrets, but the command gets the real secrets", async () => {
  const { output } = await terminal({
    command: `printf '\\033[31mred\\033[0m '; printf %s ${SECRET} | wc -c; echo ${SECRET}; echo API_KEY=abcdefgh12345678`,
  });
  expect(output).toMatch(/^red 21\n«redacted:[a-z-]+»\nAPI_KEY=«redacted:[a-z-]+»$/);
});

it.each([
  "cat > a.env <<'EOF'\nA_KEY=«redacted:secret-value»\nEOF",
  "sed -i 's/.*/A_KEY=«redacted:secret-value»/' a.env",
  "echo 'A_KEY=«redacted:secret-value»' | tee a.env",
  "echo A_KEY=«redacted:secret-value» > a.env",
  "grep -v «redacted:secret-value» a.env > b.env; mv b.env a.env",
  "grep -q x a.env || echo «redacted:secret-value» > a.env",
  'grep "$(echo «redacted:secret-value» > a.env)" a.env',
])("M4: a command that could write a redaction mark over a secret is refused: %s", async (command) => {
  await using own = await openToolLab(testEnvironment, { setUp: "echo A_KEY=hunter2hunter2 > a.env" });
  for (const background of [false, true]) {
    const { failed, text } = await own.call("terminal", { command, background });
    expect(failed).toBe(true);
    expect(text).toContain("exit_code: -1");
    expect(text).toContain("placeholder for a secret that you were not shown");
  }
  expect(await own.sh("cat a.env")).toBe("A_KEY=hunter2hunter2\n");
});

it.each(["grep -rn '«redacted:secret-value»' .", 'rg "«redacted:secret-value»|x"'])(
  "M4: a command that only searches for a redaction mark runs: %s",
  async (command) => {
    await using own = await openToolLab(testEnvironment, { setUp: "echo nothing > a.txt" });
    expect((await own.call("terminal", { command })).text).not.toContain("placeholder");
  },
);

it("C2: long output is cut to its start and end, and written completely to a file", async () => {
  await using own = await openToolLab(testEnvironment);
  const { output, full_output_path: path } = (await own.call("terminal", { command: "seq 1 100000" })).json();
  expect(output).toMatch(/^1\n2\n[\s\S]*99999\n100000$/);
  expect(String(output).length).toBeLessThan(51_000);
  expect(output).toContain("Output truncated");
  expect(String(path)).toMatch(new RegExp(`^${own.home}/cache/terminal-output/`));
  expect((await readFile(String(path), "utf8")).split("\n")).toHaveLength(100_001);
});

it("D1: a lost shell is reported as degraded, and the command does not count as successful", async () => {
  const result = await terminal({ command: "kill -9 $PPID; sleep 1" });
  expect(result["failed"]).toBe(true);
  const lost = await terminal(
    { command: "true" },
    { intercept: async (request, run) => ({ ...(await run(request)), ended: "lost", exitCode: 125 }) },
  );
  expect(lost).toMatchObject({ failed: true, status: "degraded", exit_code: 125 });
  expect(lost["error"]).toContain("unknown");
});

it("D1: an unreachable environment is reported as degraded, with a hint", async () => {
  const result = await terminal(
    { command: "true" },
    {
      intercept: async () => {
        throw new AppError("sandbox-unavailable", "The engine does not answer.");
      },
    },
  );
  expect(result).toMatchObject({
    failed: true,
    exit_code: -1,
    status: "degraded",
    error: "The engine does not answer.",
  });
  expect(result["hint"]).toContain("docker version");
});

it("D1: options that apply only in the background get a hint in the foreground", async () => {
  const result = await terminal({ command: "echo x", notify_on_complete: true });
  expect(result).toMatchObject({ failed: false, output: "x" });
  expect(result["hint"]).toContain("only with background: true");
});

it("C3: strings for numbers and booleans are accepted", async () => {
  expect(await terminal({ command: "echo x", timeout: "100", background: "false" })).toMatchObject({
    output: "x",
  });
});

it("D3: a background start returns an id, a pid and a hint to the process tool", async () => {
  const result = await terminal({ command: "sleep 300", background: true });
  expect(result).toMatchObject({ failed: false, status: "running", pid: expect.any(Number) });
  expect(result["session_id"]).toMatch(/^proc_[0-9a-f]{12}$/);
  expect(result["hint"]).toContain("process tool");
});

it("D3: with both flags the patterns are dropped with a note", async () => {
  const flags = { background: true, notify_on_complete: true, watch_patterns: ["ready"] };
  const result = await terminal({ command: "sleep 300", ...flags }, { canNotify: true });
  expect(result["notes"]).toEqual([expect.stringContaining("patterns are not watched")]);
  expect(result["hint"]).toBeUndefined();
});

it("D3: in a session that cannot be notified the flags are dropped with a hint", async () => {
  const result = await terminal({ command: "sleep 300", background: true, notify_on_complete: true });
  expect(result["hint"]).toContain("cannot be notified");
});

it("D3: the arguments for notifications are offered only where the session can be notified", async () => {
  const offeredWhere = async (canNotify: boolean) => {
    await using lab = await openToolLab(testEnvironment, { canNotify });
    return Object.keys(lab.tools.get("terminal")?.inputSchema["properties"] ?? {});
  };
  const base = ["command", "background", "timeout", "workdir", "pty"];
  expect(await offeredWhere(false)).toEqual(base);
  expect(await offeredWhere(true)).toEqual([...base, "notify_on_complete", "watch_patterns"]);
});

it("D3: a failed start is reported as a failure, not as a process", async () => {
  const result = await terminal({ command: "true", background: true, workdir: "nowhere" });
  expect(result).toMatchObject({ failed: true, exit_code: -1 });
  expect(result["session_id"]).toBeUndefined();
});

it("D3: a second start of the same command names the first", async () => {
  await using own = await openToolLab(testEnvironment);
  const start = () => own.call("terminal", { command: "sleep 301", background: true });
  const first = (await start()).json()["session_id"];
  expect((await start()).json()["same_command_runs_as"]).toEqual([first]);
});

it("D3: a command with pty gets a terminal, or a note that says why it got none", async () => {
  await using own = await openToolLab(testEnvironment);
  const started = await own.call("terminal", {
    command: "test -t 1 && echo is-terminal",
    background: true,
    pty: true,
  });
  const { session_id, notes } = started.json();
  if (notes !== undefined) return expect(notes).toEqual([expect.stringContaining("no terminal")]);
  await own.call("process", { action: "wait", session_id, timeout: 150 });
  expect((await own.call("process", { action: "log", session_id })).json()["output"]).toContain(
    "is-terminal",
  );
});
