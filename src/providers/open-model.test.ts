import { writeFile } from "node:fs/promises";
import { expect, it } from "vitest";
import { storedSettings } from "../../test/support/route-settings.ts";
import { startScriptedServer } from "../../test/support/scripted-server.ts";
import { tempFolder } from "../../test/support/temp-folder.ts";
import { openHttpClient } from "../lib/http/http-client.ts";
import { systemClock } from "../lib/time/clock.ts";
import { openModel } from "./open-model.ts";
import { ask, collect, createTestSignal, messageOf } from "./provider.contract.ts";
import { resolveRoute } from "./routes/resolve-route.ts";

const options = { http: openHttpClient({ proxy: {} }), clock: systemClock, cacheTtl: "1h" } as const;

it.each([
  ["/v1", "/v1/chat/completions", "authorization", "Bearer key-1"],
  ["/anthropic", "/anthropic/v1/messages", "x-api-key", "key-1"],
  ["/anthropic/v1", "/anthropic/v1/messages", "x-api-key", "key-1"],
])("a route with an address that ends in %s sends requests to %s", async (path, asked, header, value) => {
  await using server = await startScriptedServer({ answers: [{ text: "Hi." }] });
  const model = {
    base_url: `${server.url}${path}`,
    api_key: "key-1",
    default: "m",
    context_length: 9,
  };
  const opened = await openModel(
    resolveRoute(storedSettings(model), {}, () => undefined),
    options,
  );
  expect(opened).toMatchObject({ provider: "custom", name: "m", contextTokens: 9 });
  expect(messageOf(await collect(opened.stream(ask("hi"), createTestSignal()))).parts).toMatchObject([
    { text: "Hi." },
  ]);
  expect(server.requests[0]).toMatchObject({
    path: asked,
    headers: { [header]: value },
    body: { model: "m" },
  });
});

it.each([
  ["openrouter", "anthropic/claude-sonnet-4.5", true, true],
  ["openrouter", "openai/gpt-5", false, true],
  ["mistral", "mistral-large-latest", false, false],
])("%s with %s: cache markers %s, usage requested %s", async (provider, name, marks, asks) => {
  await using server = await startScriptedServer({ answers: [{ text: "Hi." }] });
  const model = { provider, default: name, base_url: `${server.url}/v1` };
  const opened = await openModel(
    resolveRoute(storedSettings(model), {}, () => undefined),
    options,
  );
  messageOf(await collect(opened.stream(ask("hi"), createTestSignal())));
  const body = server.requests[0]?.body ?? {};
  expect(JSON.stringify(body).includes("cache_control")).toBe(marks);
  expect("stream_options" in body).toBe(asks);
});

it("a route to a script opens a model that answers from the file", async () => {
  await using folder = await tempFolder();
  await writeFile(folder.file("demo.yaml"), "context_tokens: 77\nanswers: [{ text: From the file. }]\n");
  const model = { provider: "scripted", default: folder.file("demo.yaml") };
  const opened = await openModel(
    resolveRoute(storedSettings(model), {}, () => undefined),
    options,
  );
  expect(opened).toMatchObject({ provider: "scripted", contextTokens: 77 });
  expect(messageOf(await collect(opened.stream(ask("hi"), createTestSignal()))).parts).toMatchObject([
    { text: "From the file." },
  ]);
});
