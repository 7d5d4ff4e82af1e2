import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { openSessionStore } from "../../src/sessions/session-store.ts";
import { tempHome } from "../support/hermes.ts";
import {
  assistant,
  call,
  converse,
  NEW_SESSION,
  recordAll,
  toolEnd,
  turnEnd,
  turnStart,
} from "../support/session-fixtures.ts";

const never = new AbortController().signal;

async function fill(home: string): Promise<{ first: string; second: string }> {
  using store = await openSessionStore(join(home, "sessions.sqlite"), {}, never);
  const draft = store.createSession({ ...NEW_SESSION, title: "Release notes" });
  await recordAll(store, draft, [
    turnStart("t1", "write the release notes"),
    assistant("reading", [call("c1", '{"command":"git log"}')]),
    toolEnd("c1", "\u001b[31mred\u001b[0m commit"),
    assistant("done"),
    turnEnd("t1"),
  ]);
  const second = await converse(store, "what is the weather in Oslo", "it rains", { source: "oneshot" });
  return { first: draft.id, second };
}

test("a home without sessions says so, and looking leaves no file behind", async () => {
  await using home = await tempHome();
  expect(await home.hermes(["sessions", "list"])).toMatchObject({
    exitCode: 0,
    stdout: "There are no sessions to show.\n",
  });
  expect((await home.hermes(["sessions", "list", "--json"])).json()).toEqual([]);
  expect((await home.hermes(["sessions", "search", "x", "--json"])).json()).toEqual([]);
  expect(await home.hermes(["sessions", "show", "latest"])).toMatchObject({
    exitCode: 1,
    stderr: expect.stringMatching(/no sessions yet.*`hermes -z "TASK"`/s),
  });
  await expect(readFile(join(home.path, "sessions.sqlite"))).rejects.toThrow("ENOENT");
});

test("sessions are listed, shown, searched and exported", async () => {
  await using home = await tempHome();
  const { first, second } = await fill(home.path);
  const list = await home.hermes(["sessions", "list"]);
  expect(list.stdout).toContain(first);
  expect(list.stdout).not.toContain(second); // a one-shot run
  for (const line of list.stdout.split("\n")) expect(line.length).toBeLessThanOrEqual(80);
  const all = (await home.hermes(["sessions", "list", "--all", "--json"])).json<
    { id: string; messages: number }[]
  >();
  expect(all.map(({ id, messages }) => [id, messages])).toEqual([
    [second, 2],
    [first, 4],
  ]);
  expect((await home.hermes(["sessions", "list", "--all", "--limit", "1", "--json"])).json()).toHaveLength(1);

  const shown = await home.hermes(["sessions", "show", "release notes"]);
  expect(shown.stdout).toContain("write the release notes");
  expect(shown.stdout).toContain("git log");
  expect(shown.stdout).not.toContain("\u001b[31m");
  const tail = (await home.hermes(["sessions", "show", first.slice(0, -1), "--limit", "1", "--json"])).json<{
    messages: unknown[];
  }>();
  expect(tail.messages).toEqual([{ role: "assistant", parts: [{ type: "text", text: "done" }] }]);

  expect((await home.hermes(["sessions", "search", "weather", "oslo"])).stdout).toContain(
    "the [weather] in [Oslo]",
  );
  expect((await home.hermes(["sessions", "search", "weather", "--role", "tool"])).stdout).toBe(
    "Nothing was found.\n",
  );
  expect(
    (
      await home.hermes([
        "sessions",
        "search",
        "--rebuild",
        "git",
        "--source",
        "cli",
        "--since",
        "1d",
        "--json",
      ])
    ).json(),
  ).toMatchObject([{ session: { id: first } }]);
  expect((await home.hermes(["sessions", "search"])).exitCode).toBe(2);
  expect((await home.hermes(["sessions", "search", "x", "--role", "robot"])).exitCode).toBe(2);

  const lines = (await home.hermes(["sessions", "export", "latest"])).stdout
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));
  expect(lines).toMatchObject([
    { type: "session", id: second },
    { type: "message", role: "user" },
    { type: "message", role: "assistant" },
  ]);
  const file = join(home.path, "export.jsonl");
  expect((await home.hermes(["sessions", "export", first, "--output", file])).exitCode).toBe(0);
  expect((await readFile(file, "utf8")).split("\n")).toHaveLength(6);
  expect((await home.hermes(["sessions", "export", first, "--output", file])).stderr).toContain(
    "it exists already",
  );
});

test("a session is renamed, and deleted only after a yes", async () => {
  await using home = await tempHome();
  const { first, second } = await fill(home.path);
  expect(
    (await home.hermes(["sessions", "rename", second, "The", "weather", "--json"])).json(),
  ).toMatchObject({ id: second, title: "The weather" });
  expect((await home.hermes(["sessions", "rename", first, "the weather"])).stderr).toContain(second);
  const unsure = await home.hermes(["sessions", "delete", "the weather"]);
  expect(unsure).toMatchObject({
    exitCode: 1,
    stderr: expect.stringContaining("with 2 messages needs a yes"),
  });
  expect((await home.hermes(["sessions", "delete", "the weather", "--yes", "--json"])).json()).toEqual({
    deleted: true,
    ids: [second],
    messages: 2,
  });
  const gone = await home.hermes(["sessions", "show", "the weathr"]);
  expect(gone).toMatchObject({
    exitCode: 1,
    stderr: expect.stringContaining("no session with the id or title"),
  });
  const doctor = (await home.hermes(["doctor", "--json"])).json<{
    checks: { name: string; status: string; detail: string }[];
  }>();
  expect(doctor.checks.find(({ name }) => name === "sessions")).toMatchObject({
    status: "ok",
    detail: expect.stringContaining("sound"),
  });
});
