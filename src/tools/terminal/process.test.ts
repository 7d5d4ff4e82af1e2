import { afterAll, beforeAll, expect, it } from "vitest";
import {
  openLocalTestEnvironment,
  openToolLab,
  SECRET,
  type TestEnvironment,
  type ToolLab,
} from "../../../test/support/tool-lab.ts";

let testEnvironment: TestEnvironment;
beforeAll(async () => {
  testEnvironment = await openLocalTestEnvironment();
});
afterAll(() => testEnvironment[Symbol.asyncDispose]());

async function start(lab: ToolLab, command: string, more: object = {}): Promise<string> {
  const { session_id } = (await lab.call("terminal", { command, background: true, ...more })).json();
  return String(session_id);
}

it("D3: a process is listed, polled, read, waited for and killed", async () => {
  await using own = await openToolLab(testEnvironment);
  const id = await start(own, "seq 1 5; sleep 300");
  const process = async (input: object) => (await own.call("process", { session_id: id, ...input })).json();
  expect(await process({ action: "list" })).toEqual({
    processes: [expect.objectContaining({ session_id: id, state: "running", command: "seq 1 5; sleep 300" })],
  });
  await expect
    .poll(async () => (await process({ action: "poll" }))["output"], { timeout: 150_000 })
    .toBe("1\n2\n3\n4\n5");
  expect(await process({ action: "poll" })).toMatchObject({
    state: "running",
    uptime_seconds: expect.any(Number),
  });
  expect(await process({ action: "log", offset: 0, limit: 2 })).toMatchObject({
    output: "1\n2",
    offset: 0,
    total_lines: 5,
  });
  expect(await process({ action: "log", limit: 1 })).toMatchObject({ output: "5", offset: 4 });
  expect(await process({ action: "wait", timeout: 1 })).toMatchObject({
    status: "timeout",
    note: "It is still running after 1 s.",
  });
  expect(await process({ action: "kill" })).toMatchObject({
    status: "killed",
    state: "ended",
    reason: "killed",
    exit_code: -15,
  });
  expect(await process({ action: "kill" })).toMatchObject({ status: "already-ended" });
});

it("D3: waiting for a process that exits returns its exit code and the end of its output", async () => {
  await using own = await openToolLab(testEnvironment);
  const session_id = await start(own, "echo last words; exit 3");
  const waited = await own.call("process", { action: "wait", session_id });
  expect(waited.json()).toMatchObject({
    status: "exited",
    reason: "exited",
    exit_code: 3,
    output: "last words",
  });
});

it("D3: a wait above the limit is shortened with a note; a wait of 0 or less is an error", async () => {
  await using own = await openToolLab(testEnvironment, { limits: { timeout: 1, maxForegroundTimeout: 600 } });
  const session_id = await start(own, "sleep 300");
  const { note } = (await own.call("process", { action: "wait", session_id, timeout: 99 })).json();
  expect(note).toBe("It is still running after 1 s. The longest possible wait is 1 s.");
  for (const timeout of [0, -1])
    expect(await own.call("process", { action: "wait", session_id, timeout })).toMatchObject({
      failed: true,
    });
});

it("D3: stopping a wait leaves the process running", async () => {
  await using own = await openToolLab(testEnvironment);
  const session_id = await start(own, "sleep 300");
  const stop = new AbortController();
  const waiting = own.call("process", { action: "wait", session_id }, stop.signal);
  setTimeout(() => stop.abort(), 100);
  expect((await waiting).json()).toMatchObject({ status: "interrupted" });
  expect((await own.call("process", { action: "poll", session_id })).json()).toMatchObject({
    state: "running",
  });
});

it("D3: four digits of an id are enough, with or without proc_; fewer digits or a wrong id are refused", async () => {
  await using own = await openToolLab(testEnvironment);
  const id = await start(own, "sleep 300");
  for (const session_id of [id, id.slice(0, 9), id.slice(5, 9), id.slice(5)])
    expect((await own.call("process", { action: "poll", session_id })).json()).toMatchObject({
      session_id: id,
    });
  for (const session_id of [id.slice(5, 8), "proc_", "zzzz", 123456789012]) {
    const unknown = await own.call("process", { action: "poll", session_id });
    expect(unknown.failed).toBe(true);
    expect(unknown.json()).toMatchObject({
      error: expect.stringContaining("There is no process"),
      processes: [id],
    });
  }
});

it("D3: processes of another session are invisible to every action", async () => {
  await using theirs = await openToolLab(testEnvironment, { owner: "session-2" });
  const id = await start(theirs, "sleep 300");
  await using own = await openToolLab(testEnvironment, { jobsPath: theirs.jobsPath });
  expect((await own.call("process", { action: "list" })).json()).toEqual({ processes: [] });
  const absent = (await own.call("process", { action: "poll", session_id: "proc_000000000000" })).text;
  for (const action of ["poll", "log", "wait", "kill", "write", "submit", "close"]) {
    const { failed, text } = await own.call("process", { action, session_id: id, data: "x" });
    expect(failed).toBe(true);
    expect(text.replace(id, "proc_000000000000")).toBe(absent);
  }
  const again = await own.call("terminal", { command: "sleep 300", background: true });
  expect(again.json()["same_command_runs_as"]).toBeUndefined();
  expect((await theirs.call("process", { action: "poll", session_id: id })).json()).toMatchObject({
    state: "running",
  });
});

it("D3: a process with a terminal takes input, one without a terminal refuses it", async () => {
  await using own = await openToolLab(testEnvironment);
  const deaf = await start(own, "sleep 300");
  const refused = await own.call("process", { action: "submit", session_id: deaf, data: "x" });
  expect(refused).toMatchObject({ failed: true, text: expect.stringContaining("no input") });
  const session_id = await start(own, 'read a; read b; echo "got $a$b"', { pty: true });
  const process = async (input: object) => (await own.call("process", { session_id, ...input })).json();
  expect(await process({ action: "write", data: "one\n" })).toEqual({ status: "written" });
  expect(await process({ action: "submit", data: "two" })).toEqual({ status: "written" });
  await process({ action: "wait", timeout: 150 });
  expect((await process({ action: "log" }))["output"]).toContain("got onetwo");
  expect((await own.call("process", { action: "close", session_id })).text).toContain("ended");
});

it("M4: a redaction mark is not typed into a process", async () => {
  await using own = await openToolLab(testEnvironment);
  const { session_id } = (
    await own.call("terminal", { command: "cat > a.env", background: true, pty: true })
  ).json();
  for (const action of ["write", "submit"]) {
    const { failed, text } = await own.call("process", {
      action,
      session_id,
      data: "A_KEY=«redacted:secret-value»\n",
    });
    expect({ failed, text }).toMatchObject({ failed: true, text: expect.stringContaining("placeholder") });
  }
  expect(await own.sh("cat a.env")).toBe("");
});

it("D3, K6: output and command of a process are shown without colours and secrets", async () => {
  await using own = await openToolLab(testEnvironment);
  const session_id = await start(own, `printf '\\033[31m${SECRET}\\033[0m\\n'`);
  await own.call("process", { action: "wait", session_id, timeout: 150 });
  for (const action of ["poll", "log", "list"]) {
    const { text } = await own.call("process", { action, session_id });
    expect(text).not.toContain(SECRET);
    expect(text).not.toContain("\\u001b");
  }
});

it("a progress line is reduced to its last state, so that it does not displace earlier output", async () => {
  await using own = await openToolLab(testEnvironment);
  const session_id = await start(
    own,
    "echo begin; printf '\\rcopied %s of 9000 files' $(seq 9000); echo; echo end",
  );
  await own.call("process", { action: "wait", session_id, timeout: 150 });
  for (const action of ["poll", "log", "wait"]) {
    const { output } = (await own.call("process", { action, session_id })).json();
    const last = "copied 9000 of 9000 files [8999 earlier states of this line are omitted]";
    expect(output, action).toBe(`begin\n\r${last}\nend`);
  }
});

it("D3: a missing argument of an action is named", async () => {
  await using own = await openToolLab(testEnvironment);
  expect((await own.call("process", { action: "poll" })).json()).toEqual({ error: "poll needs session_id." });
  const session_id = await start(own, "sleep 300");
  expect((await own.call("process", { action: "write", session_id })).json()).toEqual({
    error: "write needs data.",
  });
});
