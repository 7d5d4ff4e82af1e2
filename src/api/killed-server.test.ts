import { readFile, writeFile } from "node:fs/promises";
import { setTimeout as delay } from "node:timers/promises";
import { expect, test } from "vitest";
import { dataOf, MAIN_KEY, openApiLab, readEvents, startServer } from "../../test/support/api-lab.ts";
import { startChild } from "../../test/support/child.ts";
import { scale } from "../../test/support/scale.ts";

const CHILD = new URL("../../test/support/api-child.ts", import.meta.url);
type Json = Record<string, unknown>;

async function send(url: string, path: string, json?: object, headers: object = {}): Promise<Response> {
  return fetch(`${url}${path}`, {
    ...(json && { method: "POST", body: JSON.stringify(json) }),
    headers: { Authorization: `Bearer ${MAIN_KEY}`, "Content-Type": "application/json", ...headers },
  });
}

test("H10: after kill -9 in the middle of a run, its status tells the truth, its call did not run twice, and its session continues", async () => {
  await using lab = await openApiLab({
    turns: [
      {
        when: "work",
        answers: [
          {
            tools: [
              { name: "terminal", input: { command: "echo x >> ran; until [ -e go ]; do sleep 0.05; done" } },
            ],
          },
          { text: "never" },
        ],
      },
      { when: "well", answers: [{ text: "it was cut off" }] },
    ],
  });
  const { home } = lab;
  await using child = startChild(CHILD, "serve", { home, folder: lab.folder.path });
  const url = await child.next<string>();
  const headers = { "Idempotency-Key": "once" };
  const started = (await (await send(url, "/v1/runs", { input: "work" }, headers)).json()) as Json;
  const path = `/v1/runs/${started["run_id"]}`;
  const events = await readEvents(
    await send(url, `${path}/events`),
    (event) => dataOf(event)["event"] === "tool.started",
  );
  await expect.poll(() => readFile(lab.folder.file("ran"), "utf8").catch(() => "")).toBe("x\n");
  await child.kill();
  await writeFile(lab.folder.file("go"), "");

  await using server = await startServer({ ...lab, app: await lab.open() });
  const run = (await (await server.send(path)).json()) as Json;
  expect(run).toMatchObject({ status: "failed", error: { code: "run_interrupted" } });
  expect(run["session_id"]).toBeTruthy();
  const rest = await readEvents(
    await server.send(`${path}/events`, { headers: { "Last-Event-ID": events.at(-1)?.id ?? "0" } }),
  );
  expect(rest.map(dataOf)).toMatchObject([{ event: "run.failed", error: { code: "run_interrupted" } }]);
  const again = await server.send("/v1/runs", { json: { input: "work" }, headers });
  expect([again.headers.get("Idempotency-Replayed"), await again.json()]).toMatchObject([
    "true",
    { run_id: started["run_id"] },
  ]);
  const next = await server.send("/v1/runs", { json: { input: "well?", session_id: run["session_id"] } });
  const { run_id: nextId } = (await next.json()) as Json;
  const lastEvents = await readEvents(await server.send(`/v1/runs/${nextId}/events`));
  expect(dataOf(lastEvents.at(-1) ?? { data: "{}", id: "", event: "" })).toMatchObject({
    output: "it was cut off",
  });
  expect(await readFile(lab.folder.file("ran"), "utf8")).toBe("x\n");
});

test("H10: a run whose end was stored only in its session is reported as completed after a restart", async () => {
  await using lab = await openApiLab({ answers: [{ text: "the answer" }] });
  const started = (await (await lab.send("/v1/runs", { json: { input: "work" } })).json()) as Json;
  const path = `/v1/runs/${started["run_id"]}`;
  await readEvents(await lab.send(`${path}/events`));
  await expect.poll(async () => ((await (await lab.send(path)).json()) as Json)["status"]).toBe("completed");
  await lab.forgetEnd(String(started["run_id"]));
  await using server = await startServer({ ...lab, app: await lab.open() });
  expect(await (await server.send(path)).json()).toMatchObject({ status: "completed", output: "the answer" });
});

test("H10: kills at random moments lose no request and run nothing twice: each run is completed or says that it was cut off", async () => {
  const rounds = Array.from({ length: scale.kills }, (_, round) => `round ${round}.`);
  await using lab = await openApiLab({
    turns: rounds.map((when, round) => ({
      when,
      answers: [
        {
          tools: [{ name: "terminal", input: { command: `echo x >> ran-${round}` } }],
          text: "go",
          chunk: 1,
          delay_ms: 20,
        },
        { text: "done", chunk: 1, delay_ms: 20 },
      ],
    })),
  });
  const { home } = lab;
  for (const [round, input] of rounds.entries()) {
    await using child = startChild(CHILD, "serve", { home, folder: lab.folder.path });
    const url = await child.next<string>();
    const headers = { "Idempotency-Key": `key-${round}` };
    const sent = send(url, "/v1/runs", { input }, headers).catch(() => undefined);
    await delay(Math.random() * 400);
    await child.kill();
    await sent;
    await using server = await startServer({ ...lab, app: await lab.open() });
    const again = (await (await server.send("/v1/runs", { json: { input }, headers })).json()) as Json;
    const path = `/v1/runs/${again["run_id"]}`;
    await readEvents(await server.send(`${path}/events`));
    const run = (await (await server.send(path)).json()) as Json;
    const ran = await readFile(lab.folder.file(`ran-${round}`), "utf8").catch(() => "");
    if (run["status"] === "completed") expect([run["output"], ran]).toEqual(["done", "x\n"]);
    else {
      expect(run).toMatchObject({ status: "failed", error: { code: "run_interrupted" } });
      expect(["", "x\n"]).toContain(ran);
    }
  }
});
