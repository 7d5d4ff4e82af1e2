import { existsSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it, vi } from "vitest";
import {
  openLocalTestEnvironment,
  openToolLab,
  type TestEnvironment,
  type ToolLab,
} from "../../../test/support/tool-lab.ts";
import { TurnRedirected } from "../tool.ts";

let environment: TestEnvironment;
beforeAll(async () => {
  environment = await openLocalTestEnvironment();
});
afterAll(() => environment[Symbol.asyncDispose]());

/** Starts a command, sends a new message once it runs, and returns the result of the call. */
async function redirect(lab: ToolLab, command: string, timeout?: number) {
  const turn = new AbortController();
  const calling = lab.call("terminal", { command: `touch started; ${command}`, timeout }, turn.signal);
  await vi.waitFor(() => expect(existsSync(join(lab.folder, "started"))).toBe(true), 10_000);
  turn.abort(new TurnRedirected());
  return calling;
}

it("M7: a new message moves a running command to the background, where it has no time limit and does not change the session's folder", async () => {
  await using lab = await openToolLab(environment);
  const moved = await redirect(
    lab,
    "echo first; while [ ! -e go ]; do sleep 0.1; done; cd /; echo last; exit 3",
    1,
  );
  expect(moved).toMatchObject({ failed: false, continues: true });
  const { session_id, output } = moved.json();
  const process = async (input: object) => (await lab.call("process", { session_id, ...input })).json();
  expect(await process({ action: "poll" })).toMatchObject({ state: "running" });
  const next = await lab.call("terminal", { command: "sleep 1.2; touch go; pwd" });
  expect(next.json()["output"]).toBe(lab.folder);
  expect(await process({ action: "wait" })).toMatchObject({ status: "exited", exit_code: 3 });
  // What was printed before the move is in the result of the call, unless it was still on its way.
  const log = (await process({ action: "log" }))["output"];
  expect(`${output}\n${log}`.trim().split("\n")).toEqual(["first", "last"]);
  expect(await process({ action: "list" })).toMatchObject({ processes: [{ session_id, state: "ended" }] });
  expect((await lab.call("terminal", { command: "pwd" })).json()["output"]).toBe(lab.folder);
});

it("M7: a moved command can be ended; while four of them run, a further command is not moved but stopped", async () => {
  await using lab = await openToolLab(environment);
  const ids: unknown[] = [];
  for (let index = 0; index < 4; index++) {
    ids.push((await redirect(lab, "sleep 600")).json()["session_id"]);
    await lab.sh("rm started");
  }
  const fifth = await redirect(lab, "sleep 600");
  expect(fifth.continues).toBeUndefined();
  expect(fifth.json()["error"]).toMatch(/^Stopped before it had finished/);
  for (const session_id of ids) {
    const killed = await lab.call("process", { action: "kill", session_id });
    expect(killed.json()).toMatchObject({ status: "killed", state: "ended", exit_code: 130 });
  }
});

it("M7: a plain stop ends the command", async () => {
  await using lab = await openToolLab(environment);
  const turn = new AbortController();
  const calling = lab.call("terminal", { command: "touch started; sleep 600" }, turn.signal);
  await vi.waitFor(() => expect(existsSync(join(lab.folder, "started"))).toBe(true), 10_000);
  turn.abort();
  expect((await calling).json()["error"]).toMatch(
    /^Stopped before it had finished; it and its children were ended/,
  );
});
