import { afterAll, beforeAll, expect, it } from "vitest";
import {
  openLocalPlace,
  openToolLab,
  SECRET,
  type ToolLab,
  type ToolPlace,
} from "../../../test/support/tool-lab.ts";

let place: ToolPlace;
beforeAll(async () => {
  place = await openLocalPlace();
});
afterAll(() => place[Symbol.asyncDispose]());

async function start(lab: ToolLab, command: string, more: object = {}): Promise<string> {
  const { session_id } = (await lab.call("terminal", { command, background: true, ...more })).json();
  return String(session_id);
}

it("D3: a process is listed, polled, read, waited for and killed", async () => {
  await using own = await openToolLab(place);
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
    note: "It still runs after 1 s.",
  });
  expect(await process({ action: "kill" })).toMatchObject({
    status: "killed",
    state: "ended",
    reason: "killed",
    exit_code: -15,
  });
  expect(await process({ action: "kill" })).toMatchObject({ status: "already-ended" });
});

it("D3: waiting for one that ends gives its exit code and the end of its output", async () => {
  await using own = await openToolLab(place);
  const session_id = await start(own, "echo last words; exit 3");
  const waited = await own.call("process", { action: "wait", session_id });
  expect(waited.json()).toMatchObject({
    status: "exited",
    reason: "exited",
    exit_code: 3,
    output: "last words",
  });
});

it("D3: a wait longer than may be is cut short with a note; none at all is an error", async () => {
  await using own = await openToolLab(place, { limits: { timeout: 1, maxForegroundTimeout: 600 } });
  const session_id = await start(own, "sleep 300");
  const { note } = (await own.call("process", { action: "wait", session_id, timeout: 99 })).json();
  expect(note).toBe("It still runs after 1 s. At most 1 s are waited at a time.");
  for (const timeout of [0, -1])
    expect(await own.call("process", { action: "wait", session_id, timeout })).toMatchObject({
      failed: true,
    });
});

it("D3: a wait that is stopped leaves the process running", async () => {
  await using own = await openToolLab(place);
  const session_id = await start(own, "sleep 300");
  const stop = new AbortController();
  const waiting = own.call("process", { action: "wait", session_id }, stop.signal);
  setTimeout(() => stop.abort(), 100);
  expect((await waiting).json()).toMatchObject({ status: "interrupted" });
  expect((await own.call("process", { action: "poll", session_id })).json()).toMatchObject({
    state: "running",
  });
});

it("D3: four digits of an id are enough, with or without its beginning; fewer and unknown ones are not", async () => {
  await using own = await openToolLab(place);
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

it("D3: the processes of another session are as if they were not there, for every action", async () => {
  await using theirs = await openToolLab(place, { owner: "session-2" });
  const id = await start(theirs, "sleep 300");
  await using own = await openToolLab(place, { jobsPath: theirs.jobsPath });
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

it("D3: input goes to a process with a terminal, and one without says that it takes none", async () => {
  await using own = await openToolLab(place);
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

it("D3, K6: what is shown of a process has no colours and no secrets, its command included", async () => {
  await using own = await openToolLab(place);
  const session_id = await start(own, `printf '\\033[31m${SECRET}\\033[0m\\n'`);
  await own.call("process", { action: "wait", session_id, timeout: 150 });
  for (const action of ["poll", "log", "list"]) {
    const { text } = await own.call("process", { action, session_id });
    expect(text).not.toContain(SECRET);
    expect(text).not.toContain("\\u001b");
  }
});

it("D3: what an action needs is named", async () => {
  await using own = await openToolLab(place);
  expect((await own.call("process", { action: "poll" })).json()).toEqual({ error: "poll needs session_id." });
  const session_id = await start(own, "sleep 300");
  expect((await own.call("process", { action: "write", session_id })).json()).toEqual({
    error: "write needs data.",
  });
});
