import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { readOwnIdentity } from "../../src/lib/process/process-identity.ts";
import { neverAborted } from "../../src/lib/time/never-aborted.ts";
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

async function fill(home: string): Promise<{ first: string; second: string }> {
  using store = await openSessionStore(join(home, "sessions.sqlite"), {}, neverAborted);
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

test("a home without sessions says so, and listing creates no file", async () => {
  await using home = await tempHome();
  expect(await home.hermes(["sessions", "list"])).toMatchObject({
    exitCode: 0,
    stdout: "No sessions yet. Start one with `hermes`.\n",
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
  expect(list.stderr).toContain(
    "1 session of single runs (-z, -q) and workers hidden; use --all to show them.",
  );
  const elsewhere = await home.hermes(["sessions", "list", "--in", "/nowhere"]);
  expect(elsewhere).toMatchObject({ stdout: "No sessions match.\n", stderr: "" });
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
  expect(tail.messages).toMatchObject([
    { number: 4, role: "assistant", parts: [{ type: "text", text: "done" }] },
  ]);

  expect((await home.hermes(["sessions", "search", "weather", "oslo"])).stdout).toContain(
    "the [weather] in [Oslo]",
  );
  expect((await home.hermes(["sessions", "search", "weather", "--role", "tool"])).stdout).toBe(
    "No matches.\n",
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
  const json = await home.hermes(["sessions", "export", "latest", "--json"]);
  expect(
    json.stdout
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line)),
  ).toEqual(lines);
  const file = join(home.path, "export.jsonl");
  expect((await home.hermes(["sessions", "export", first, "--output", file])).exitCode).toBe(0);
  expect((await readFile(file, "utf8")).split("\n")).toHaveLength(6);
  expect((await home.hermes(["sessions", "export", first, "--output", file])).stderr).toContain(
    "it already exists",
  );
});

test("a session is renamed, and deleted only after confirmation", async () => {
  await using home = await tempHome();
  const { first, second } = await fill(home.path);
  expect(
    (await home.hermes(["sessions", "rename", second, "The", "weather", "--json"])).json(),
  ).toMatchObject({ id: second, title: "The weather" });
  expect((await home.hermes(["sessions", "rename", first, "the weather"])).stderr).toContain(second);
  const unsure = await home.hermes(["sessions", "delete", "the weather"]);
  expect(unsure).toMatchObject({
    exitCode: 1,
    stderr: expect.stringContaining("with 2 messages needs confirmation"),
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
    detail: expect.stringContaining("intact"),
  });
});

test("agent D3: a session is exported as a web page and as Markdown, escaped, filtered and without the profile's own keys", async () => {
  await using home = await tempHome();
  const path = join(home.path, "sessions.sqlite");
  const ownKey = "the-key-of-this-profile";
  {
    using store = await openSessionStore(path, {}, neverAborted);
    await writeFile(join(home.path, ".env"), `OPENAI_API_KEY=${ownKey}\n`, { mode: 0o600 });
    const draft = store.createSession({ ...NEW_SESSION, title: "Fix <the> parser" });
    const written = JSON.stringify({ path: "a.txt", content: ownKey });
    const calls = [call("c1", '{"command":"cat a.txt"}'), call("c2", written)];
    await recordAll(store, draft, [
      turnStart("t1", "fix <b>this</b>, token is ghp_0123456789abcdefghijABCDEFGHIJ012345"),
      assistant("# Looking\n\n<script>alert(1)</script>", calls),
      { type: "tools-start", calls },
      toolEnd("c1", "</code></pre><img src=x onerror=alert(1)> \u001b[31mred"),
      { ...toolEnd("c2", "written"), display: "@@ -1 +1 @@\n-old\n+new" } as ReturnType<typeof toolEnd>,
      assistant("**done**"),
      turnEnd("t1"),
    ]);
    await recordAll(store, draft.id, [
      turnStart("t2", "forget this"),
      assistant("undone answer"),
      turnEnd("t2"),
    ]);
    await store.history().undo(draft.id, 1, await readOwnIdentity(neverAborted), neverAborted);
  }
  const run = async (...words: string[]) =>
    (await home.hermes(["sessions", "export", "latest", ...words])).stdout;
  const html = await run("--format", "html");
  expect(html).toMatch(/^<!doctype html>/);
  expect(html).toContain("<title>Fix &lt;the&gt; parser</title>");
  expect(html).toContain("default-src 'none'");
  expect(html).toContain('<span class="added">+new</span>');
  expect(html).toContain("<strong>done</strong>");
  for (const hidden of ["<script", "<img", "<b>this", "\u001b", "undone answer"])
    expect(html).not.toContain(hidden);
  expect(html).not.toMatch(/(?:src|href)="(?!#|data:)/);
  expect(html).toContain("ghp_0123456789");
  expect(await run("--format", "html", "--redact")).not.toContain("ghp_0123456789");
  expect(await run("--redact")).not.toContain("ghp_0123456789");
  const show = async (...words: string[]) =>
    (await home.hermes(["sessions", "show", "latest", ...words])).stdout;
  const formats = ["jsonl", "markdown", "html"].map((format) => run("--format", format));
  for (const text of await Promise.all([...formats, show(), show("--json")])) {
    expect(text).toContain("«redacted"); // the key that the model wrote into a call
    expect(text).not.toContain(ownKey);
  }

  const markdown = await run("--format", "markdown");
  expect(markdown).toContain("# Fix <the> parser\n");
  expect(markdown).toContain("> fix <b>this</b>");
  expect(markdown).toContain(
    "<details><summary>terminal <code>cat a.txt</code></summary>\n\n```\ncat a.txt\n```",
  );
  expect(markdown).toContain("```diff\n@@ -1 +1 @@\n-old\n+new\n```");
  const answers = await run("--format", "markdown", "--only", "answers");
  expect(answers).toContain("**done**");
  expect(answers).not.toMatch(/details|fix <b>/);
  expect(await run("--format", "html", "--only", "prompts")).not.toContain("done");
  expect((await run("--only", "prompts")).trim().split("\n")).toHaveLength(2);
  expect((await home.hermes(["sessions", "export", "latest", "--format", "pdf"])).exitCode).toBe(2);
  expect(await run("--format", "md")).toBe(markdown);
  const file = join(home.path, "session.html");
  await run("-o", file);
  expect(await readFile(file, "utf8")).toBe(html);
  const refused = (output: string) => home.hermes(["sessions", "export", "latest", "-o", output]);
  expect((await refused(file)).stderr).toMatch(/it already exists\.\n {2}Remove it/);
  expect((await refused(join(home.path, "no", "x.md"))).stderr).toMatch(
    /its folder does not exist\.\n {2}Create/,
  );
});

test("agent D4: pruning lists what it would delete, asks, and says what it deleted; stats sum up what is left", async () => {
  await using home = await tempHome();
  const { first } = await fill(home.path);
  const run = (...words: string[]) => home.hermes(["sessions", ...words]);
  expect((await run("prune")).stdout).toContain("No session was last used before");
  const dry = await run("prune", "--older-than", "0s", "--source", "cli", "--dry-run");
  expect(dry.stdout).toContain(first);
  expect(dry.stderr).toContain("Would delete 1 session with");
  expect((await run("prune", "--older-than", "0s")).stderr).toContain("needs confirmation");
  expect((await run("stats", "--json")).json()).toMatchObject({ sessions: 2, archived: 0, turns: 2 });
  expect((await run("stats")).stdout).toMatch(/sessions +2.*scripted\/m-1/s);
  const pruned = await run("prune", "--older-than", "0s", "--source", "cli", "--yes", "--json");
  expect(pruned.json()).toMatchObject({ deleted: [first], skipped: [] });
  expect((await run("stats", "--json")).json()).toMatchObject({ sessions: 1 });
  expect((await run("prune", "--older-than", "soon")).exitCode).toBe(2);
});
