import { writeFile } from "node:fs/promises";
import { expect, it } from "vitest";
import { startScriptedServer } from "../../test/support/scripted-server.ts";
import { tempFolder } from "../../test/support/temp-folder.ts";
import { systemClock } from "../lib/clock.ts";
import { createHttpClient } from "../lib/http.ts";
import { openModel } from "./open-model.ts";
import { modelOptions } from "./options.ts";
import { ask, collect, messageOf, soon } from "./provider.contract.ts";
import { resolveRoute } from "./resolve-route.ts";

const options = { http: createHttpClient({ proxy: {} }), clock: systemClock, cacheTtl: "1h" } as const;

it.each([
  ["/v1", "/v1/chat/completions", "authorization", "Bearer key-1"],
  ["/anthropic", "/anthropic/v1/messages", "x-api-key", "key-1"],
  ["/anthropic/v1", "/anthropic/v1/messages", "x-api-key", "key-1"],
])("a route to an address that ends in %s is asked at %s", async (path, asked, header, value) => {
  await using server = await startScriptedServer({ answers: [{ text: "Hi." }] });
  const model = modelOptions.parse({
    base_url: `${server.url}${path}`,
    api_key: "key-1",
    default: "m",
    context_length: 9,
  });
  const opened = await openModel(
    resolveRoute({ model, providers: {} }, {}, () => undefined),
    options,
  );
  expect(opened).toMatchObject({ provider: "custom", name: "m", contextTokens: 9 });
  expect(messageOf(await collect(opened.stream(ask("hi"), soon()))).parts).toMatchObject([{ text: "Hi." }]);
  expect(server.requests[0]).toMatchObject({
    path: asked,
    headers: { [header]: value },
    body: { model: "m" },
  });
});

it("a route to a script is answered from its file", async () => {
  await using folder = await tempFolder();
  await writeFile(folder.file("demo.yaml"), "context_tokens: 77\nanswers: [{ text: From the file. }]\n");
  const model = modelOptions.parse({ provider: "scripted", default: folder.file("demo.yaml") });
  const opened = await openModel(
    resolveRoute({ model, providers: {} }, {}, () => undefined),
    options,
  );
  expect(opened).toMatchObject({ provider: "scripted", contextTokens: 77 });
  expect(messageOf(await collect(opened.stream(ask("hi"), soon()))).parts).toMatchObject([
    { text: "From the file." },
  ]);
});
