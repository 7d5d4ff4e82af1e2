import { readFile, writeFile } from "node:fs/promises";
import { connect } from "node:net";
import { expect, test } from "vitest";
import { addKey, dataOf, MAIN_KEY, openApiLab, readEvents, startServer } from "../../test/support/api-lab.ts";

type Lab = Awaited<ReturnType<typeof openApiLab>>;
type Json = Record<string, unknown>;

/** A tool call that runs until the file `go` exists. */
const WAITING = {
  tools: [{ name: "terminal", input: { command: "until [ -e go ]; do sleep 0.05; done; echo x >> ran" } }],
};
const go = (lab: Lab): Promise<void> => writeFile(lab.folder.file("go"), "");
const jsonOf = async (response: Promise<Response>): Promise<Json> => (await response).json() as Promise<Json>;
const startRun = async (lab: Pick<Lab, "send">, body: object, headers: Record<string, string> = {}) =>
  String((await jsonOf(lab.send("/v1/runs", { json: body, headers })))["run_id"]);
const readRun = (lab: Pick<Lab, "send">, id: string): Promise<Json> => jsonOf(lab.send(`/v1/runs/${id}`));
const untilStatus = (lab: Pick<Lab, "send">, id: string, status: string): Promise<unknown> =>
  expect.poll(async () => (await readRun(lab, id))["status"], { timeout: 20_000 }).toBe(status);

const lastOf = <Item>(items: readonly Item[]): Item => {
  const last = items.at(-1);
  if (last === undefined) throw new Error("the list is empty");
  return last;
};

test("H8, K13: a run goes on when its stream is cut, and Last-Event-ID resumes it without loss or repetition", async () => {
  await using lab = await openApiLab({ answers: [WAITING, { text: "The last words.", chunk: 2 }] });
  const id = await startRun(lab, { input: "work" });
  const first = await readEvents(
    await lab.send(`/v1/runs/${id}/events`),
    (event) => dataOf(event)["event"] === "tool.started",
  );
  const lastId = first.findLast((event) => event.id !== undefined)?.id ?? "0";
  expect((await readRun(lab, id))["status"]).toBe("running");
  await go(lab);
  const rest = await readEvents(
    await lab.send(`/v1/runs/${id}/events`, { headers: { "Last-Event-ID": lastId } }),
  );
  const all = await readEvents(await lab.send(`/v1/runs/${id}/events`));
  expect([...first, ...rest]).toEqual(all);
  const deltas = all.map(dataOf).filter(({ event }) => event === "message.delta");
  expect(deltas.map(({ delta }) => delta).join("")).toBe("The last words.");
  expect(dataOf(lastOf(all))).toMatchObject({ event: "run.completed", output: "The last words." });
  const ids = all.flatMap((event) => (event.id === undefined ? [] : Number(event.id)));
  expect(ids).toEqual([...new Set(ids)].toSorted((one, other) => one - other));
});

test("H8: a cut chat stream resumes by its Idempotency-Key and Last-Event-ID", async () => {
  await using lab = await openApiLab({ answers: [{ text: "abcdefgh", chunk: 1, delay_ms: 5 }] });
  const ask = (headers: Record<string, string>) =>
    lab.send("/v1/chat/completions", {
      json: { stream: true, messages: [{ role: "user", content: "letters" }] },
      headers: { "Idempotency-Key": "letters-1", ...headers },
    });
  const textOf = (events: readonly { data: string }[]): string =>
    events
      .filter(({ data }) => data !== "[DONE]")
      .map(({ data }) => JSON.parse(data).choices[0]?.delta.content ?? "")
      .join("");
  const first = await readEvents(await ask({}), ({ data }) => data.includes('"content":"c"'));
  const resumed = await ask({ "Last-Event-ID": first.at(-1)?.id ?? "" });
  expect(resumed.headers.get("Idempotency-Replayed")).toBe("true");
  const rest = await readEvents(resumed);
  expect([textOf(first), textOf(rest)]).toEqual(["abc", "defgh"]);
  expect(rest.at(-1)?.data).toBe("[DONE]");
});

test("H6: two requests with one Idempotency-Key start one run, and another body is a conflict", async () => {
  await using lab = await openApiLab({
    answers: [{ tools: [{ name: "terminal", input: { command: "echo x >> ran" } }] }, { text: "ok" }],
  });
  const headers = { "Idempotency-Key": "k1" };
  const [one, other] = await Promise.all([
    startRun(lab, { input: "work" }, headers),
    startRun(lab, { input: "work" }, headers),
  ]);
  expect(one).toBe(other);
  const conflict = await lab.send("/v1/runs", { json: { input: "other work" }, headers });
  expect([conflict.status, await conflict.json()]).toMatchObject([
    409,
    { error: { code: "idempotency_key_conflict" } },
  ]);
  await untilStatus(lab, one, "completed");
  expect(await readFile(lab.folder.file("ran"), "utf8")).toBe("x\n");
  // The key is durable: another process of the server knows it, and the key of another caller is another one.
  await using second = await startServer({ ...lab, app: await lab.open() });
  expect(await startRun(second, { input: "work" }, headers)).toBe(one);
  const otherKey = await addKey(lab, "runs");
  const theirs = await jsonOf(second.send("/v1/runs", { json: { input: "work" }, headers, key: otherKey }));
  expect(theirs["run_id"]).not.toBe(one);
});

test("K15: a run is 404 for every other key, in all of its routes", async () => {
  await using lab = await openApiLab({ answers: [WAITING, { text: "ok" }] });
  const id = await startRun(lab, { input: "work" });
  const key = await addKey(lab, "runs");
  const statuses = await Promise.all([
    lab.send(`/v1/runs/${id}`, { key }),
    lab.send(`/v1/runs/${id}/events`, { key }),
    lab.send(`/v1/runs/${id}/stop`, { key, method: "POST" }),
    lab.send(`/v1/runs/${id}/steer`, { key, json: { text: "x" } }),
    lab.send(`/v1/runs/${id}/approval`, { key, json: { choice: "once" } }),
  ]);
  expect(statuses.map(({ status }) => status)).toEqual([404, 404, 404, 404, 404]);
  await go(lab);
  await untilStatus(lab, id, "completed");
});

test("H4: an approval is shown, answered over HTTP with the key's name, and answered once", async () => {
  await using lab = await openApiLab(
    { answers: [{ tools: [{ name: "terminal", input: { command: "echo x >> ran" } }] }, { text: "ok" }] },
    { approvals: { mode: "manual", ask: ["echo x*"] } },
  );
  const id = await startRun(lab, { input: "work" });
  const events = await readEvents(
    await lab.send(`/v1/runs/${id}/events`),
    (event) => dataOf(event)["event"] === "approval.request",
  );
  expect(dataOf(lastOf(events))).toMatchObject({ tool: "terminal" });
  await untilStatus(lab, id, "waiting_for_approval");
  const answer = (choice: string) => lab.send(`/v1/runs/${id}/approval`, { json: { choice } });
  expect((await answer("perhaps")).status).toBe(400);
  const lesser = await addKey(lab, "runs");
  const theirs = await startRun(
    { send: (path, init) => lab.send(path, { ...init, key: lesser }) },
    { input: "work" },
  );
  await expect
    .poll(
      async () => ((await (await lab.send(`/v1/runs/${theirs}`, { key: lesser })).json()) as Json)["status"],
    )
    .toBe("waiting_for_approval");
  const always = { json: { choice: "always" }, key: lesser };
  expect((await lab.send(`/v1/runs/${theirs}/approval`, always)).status).toBe(403);
  await lab.send(`/v1/runs/${theirs}/stop`, { method: "POST", key: lesser });
  expect((await answer("once")).status).toBe(200);
  await untilStatus(lab, id, "completed");
  expect((await answer("once")).status).toBe(409);
  expect(await readFile(lab.folder.file("ran"), "utf8")).toBe("x\n");
});

test("a run takes a note, shows that it stops, and ends as cancelled", async () => {
  await using lab = await openApiLab({ answers: [WAITING, { text: "never" }] });
  const id = await startRun(lab, { input: "work" });
  await readEvents(
    await lab.send(`/v1/runs/${id}/events`),
    (event) => dataOf(event)["event"] === "tool.started",
  );
  expect((await lab.send(`/v1/runs/${id}/steer`, { json: { text: "be brief" } })).status).toBe(200);
  const stopped = await jsonOf(lab.send(`/v1/runs/${id}/stop`, { method: "POST" }));
  expect(["stopping", "cancelled"]).toContain(stopped["status"]);
  await untilStatus(lab, id, "cancelled");
  expect((await lab.send(`/v1/runs/${id}/steer`, { json: { text: "late" } })).status).toBe(409);
});

test("H7: a client may ask that its turn ends when it disconnects", async () => {
  await using lab = await openApiLab({ answers: [WAITING, { text: "never" }] });
  const response = await lab.send("/v1/chat/completions", {
    json: { stream: true, messages: [{ role: "user", content: "work" }] },
    headers: { "X-Hermes-On-Disconnect": "cancel" },
  });
  const id = response.headers.get("X-Hermes-Run-Id") ?? "";
  await readEvents(response, ({ event }) => event === "hermes.tool.progress");
  await untilStatus(lab, id, "cancelled");
});

test("K39: the same request twice gets two sessions; an id that a client chose is one session per key", async () => {
  await using lab = await openApiLab({ answers: [{ text: "one" }, { text: "two" }] });
  const ask = async (headers: Record<string, string>, key = MAIN_KEY) => {
    const json = { messages: [{ role: "user", content: "hello" }] };
    const response = await lab.send("/v1/chat/completions", { json, headers, key });
    const body = (await response.json()) as { choices: { message: { content: string } }[] };
    return [response.headers.get("X-Hermes-Session-Id"), body.choices[0]?.message.content] as const;
  };
  const [first] = await ask({});
  const [second] = await ask({});
  expect(first).not.toBe(second);
  const named = { "X-Hermes-Session-Id": "chat-1" };
  const [mine, answer] = await ask(named);
  expect([answer, await ask(named)]).toEqual(["one", [mine, "two"]]);
  const other = await addKey(lab, "chat");
  const [theirs, theirAnswer] = await ask(named, other);
  expect([theirs === mine, theirAnswer]).toEqual([false, "one"]);
  const stolen = await lab.send("/v1/chat/completions", {
    json: { messages: [{ role: "user", content: "hello" }] },
    headers: { "X-Hermes-Session-Id": mine ?? "" },
    key: other,
  });
  expect(stolen.status).toBe(404);
});

test("H9: two messages to one new session at once become two turns of it, one after the other", async () => {
  await using lab = await openApiLab({ answers: [{ text: "one" }, { text: "two" }] });
  const ids = await Promise.all([
    startRun(lab, { input: "hello", session_id: "s" }),
    startRun(lab, { input: "hello", session_id: "s" }),
  ]);
  for (const id of ids) await untilStatus(lab, id, "completed");
  const runs = await Promise.all(ids.map((id) => readRun(lab, id)));
  expect(runs[0]?.["session_id"]).toBe(runs[1]?.["session_id"]);
  expect(runs.map(({ output }) => output).toSorted()).toEqual(["one", "two"]);
});

test("H3: more runs than allowed get 429 with Retry-After, and nothing of them is kept", async () => {
  await using lab = await openApiLab(
    { answers: [WAITING, { text: "ok" }] },
    { api_server: { max_concurrent_runs: 1 } },
  );
  const id = await startRun(lab, { input: "work" });
  const refused = await lab.send("/v1/runs", {
    json: { input: "more" },
    headers: { "Idempotency-Key": "k" },
  });
  expect([refused.status, refused.headers.get("Retry-After")]).toEqual([429, "5"]);
  await go(lab);
  await untilStatus(lab, id, "completed");
  const again = await lab.send("/v1/runs", { json: { input: "more" }, headers: { "Idempotency-Key": "k" } });
  expect(again.status).toBe(202);
});

test("a client that stops reading holds up neither its turn nor others, and loses nothing when it reads again", async () => {
  await using lab = await openApiLab({ answers: [{ text: "x".repeat(2_000_000), chunk: 250 }] });
  const id = await startRun(lab, { input: "talk" });
  const { hostname, port } = new URL(lab.url);
  const idle = connect(Number(port), hostname);
  idle.pause();
  idle.write(
    `GET /v1/runs/${id}/events HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAuthorization: Bearer ${MAIN_KEY}\r\n\r\n`,
  );
  const events = await readEvents(await lab.send(`/v1/runs/${id}/events`));
  expect(dataOf(lastOf(events))).toMatchObject({ event: "run.completed", reason: null });
  let text = "";
  for await (const chunk of idle) text += chunk;
  expect(text.match(/"event":"message.delta"/g)).toHaveLength(8_000);
  expect(text).toContain('"event":"run.completed"');
});

test("the metrics count requests and turns", async () => {
  await using lab = await openApiLab({ answers: [{ text: "ok" }] });
  await untilStatus(lab, await startRun(lab, { input: "work" }), "completed");
  const text = await (await lab.send("/metrics")).text();
  expect(text).toContain('hermes_api_requests_total{method="POST",route="/v1/runs",status="202"} 1');
  expect(text).toContain("hermes_turns_active 0");
});
