import { join } from "node:path";
import { expect, test } from "vitest";
import { neverAborted } from "../../src/lib/time/never-aborted.ts";
import { openSessionStore } from "../../src/sessions/session-store.ts";
import { tempHome } from "../support/hermes.ts";
import { startScriptedServer } from "../support/scripted-server.ts";
import {
  assistant,
  call,
  NEW_SESSION,
  recordAll,
  toolEnd,
  turnEnd,
  turnStart,
} from "../support/session-fixtures.ts";

const SUMMARY = "## Goal\nThe user released version 7, and the agent tagged it and wrote the notes.";

/** Stores a session of some length whose model is served at `url`. */
async function fill(home: string, url: string, untrusted?: readonly string[]): Promise<string> {
  using store = await openSessionStore(join(home, "sessions.sqlite"), {}, neverAborted);
  const draft = store.createSession({
    ...NEW_SESSION,
    provider: "custom",
    model: "m",
    baseUrl: `${url}/v1`,
    keepsAddress: true,
  });
  for (let turn = 0; turn < 6; turn++) {
    const calls = [call(`c${turn}`, `{"command":"git tag v${turn}"}`)];
    await recordAll(store, turn === 0 ? draft : draft.id, [
      {
        ...turnStart(`t${turn}`, turn === 0 ? "the codeword is heliotrope" : `release version ${turn}`),
        ...(turn === 0 && { untrusted }),
      },
      assistant("tagging", calls),
      { type: "tools-start", calls },
      toolEnd(`c${turn}`, `tagged ${"x ".repeat(1_500)}`),
      assistant(`released ${turn}`),
      turnEnd(`t${turn}`),
    ]);
  }
  return draft.id;
}

test("agent A8: sessions compact previews and compacts a session; its messages stay complete, marked and searchable", async () => {
  await using server = await startScriptedServer({
    turns: [
      {
        when: "Summarise it as you were told",
        answers: [{ text: SUMMARY, usage: { input: 900, output: 30 } }],
      },
      { when: "which version", answers: [{ text: "Version 5." }] },
    ],
  });
  await using home = await tempHome();
  const id = await fill(home.path, server.url);
  const preview = await home.hermes(["sessions", "compact", "latest", "--preview", "--json"]);
  expect(preview.json()).toMatchObject({ compacted: false, sessionId: id });
  expect(server.requests).toHaveLength(0);
  const done = await home.hermes(["sessions", "compact", "--focus", "the tags", "--json"]);
  expect(done.json()).toMatchObject({
    compacted: true,
    trigger: "manual",
    method: "model",
    usage: { inputTokens: 900 },
  });
  expect(JSON.stringify(server.requests[0]?.body.messages)).toContain("keep in particular: the tags");
  const shown = (await home.hermes(["sessions", "show", id, "--limit", "99", "--json"])).json<{
    messages: { compacted?: boolean }[];
    usage: { inputTokens: number };
  }>();
  expect(shown.messages).toHaveLength(24);
  expect(shown.messages[0]?.compacted).toBe(true);
  expect(shown.messages.at(-1)).not.toHaveProperty("compacted");
  expect(shown.usage.inputTokens).toBe(900);
  const found = await home.hermes(["sessions", "search", "heliotrope", "--json"]);
  expect(found.json()).toMatchObject([{ session: { id }, hits: [{ compacted: true }] }]);
  const answer = await home.hermes(["-r", id, "-z", "which version is the latest?"]);
  expect(answer.stdout).toBe("Version 5.\n");
  const sent = JSON.stringify(server.requests[1]?.body.messages);
  expect(sent).toContain("tagged it and wrote the notes");
  expect(sent).toContain("terminal git tag v0: done");
  const again = await home.hermes(["sessions", "compact", "latest", "--preview"]);
  for (const line of again.stdout.split("\n")) expect(line.length).toBeLessThanOrEqual(80);
});

test("agent M1: a failed summary is reported with its cause, and the session is unchanged", async () => {
  await using server = await startScriptedServer(
    { answers: [] },
    { misbehave: () => ({ type: "answer", status: 401, body: '{"error":{"message":"no such key"}}' }) },
  );
  await using home = await tempHome();
  const id = await fill(home.path, server.url);
  const failed = await home.hermes(["sessions", "compact", id]);
  expect(failed).toMatchObject({ exitCode: 1, stdout: "" });
  expect(failed.stderr).toMatch(/No summary: custom did not accept.*auxiliary\.compression\.model/s);
  using store = await openSessionStore(join(home.path, "sessions.sqlite"), {}, neverAborted);
  expect(store.loadSession(id).compaction).toMatchObject({ replaced: 0, failures: 1 });
  expect((await home.hermes(["sessions", "compact", "nothing"])).stderr).toContain(
    'no session with the id or title "nothing"',
  );
});

test("agent M1: a compaction that would gain nothing is refused with an explanation, asks no model and does not count", async () => {
  await using server = await startScriptedServer({ answers: [{ text: SUMMARY, times: 9 }] });
  await using home = await tempHome();
  const id = await fill(home.path, server.url);
  let done = 0;
  let ended = await home.hermes(["sessions", "compact", id, "--json"]);
  let asked = 0;
  for (; ended.exitCode === 0 && done < 9; done++) {
    asked = server.requests.length;
    const { tokensBefore, tokensAfter } = ended.json<{ tokensBefore: number; tokensAfter: number }>();
    expect(tokensAfter).toBeLessThan(tokensBefore * 0.97);
    ended = await home.hermes(["sessions", "compact", id, "--json"]);
  }
  expect(ended).toMatchObject({ exitCode: 1, stdout: "" });
  expect(ended.stderr).toContain("would not become noticeably shorter");
  expect(server.requests).toHaveLength(asked);
});

test("agent K7: a compaction does not end the taint of the text that it summarises", async () => {
  await using server = await startScriptedServer({
    turns: [{ when: "Summarise it as you were told", answers: [{ text: SUMMARY }] }],
  });
  await using home = await tempHome();
  const id = await fill(home.path, server.url, ["@url:https://evil.example"]);
  const done = await home.hermes(["sessions", "compact", "--json"]);
  expect(done.json()).toMatchObject({ compacted: true });
  using store = await openSessionStore(join(home.path, "sessions.sqlite"), {}, neverAborted);
  expect(store.loadSession(id).untrusted).toEqual(["@url:https://evil.example"]);
});
