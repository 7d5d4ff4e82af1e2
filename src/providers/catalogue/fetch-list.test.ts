import { randomBytes } from "node:crypto";
import type { ServerResponse } from "node:http";
import { expect, test } from "vitest";
import { type Answers, startModelsServer } from "../../../test/support/models-server.ts";
import { storedSettings } from "../../../test/support/route-settings.ts";
import { AppError } from "../../lib/errors.ts";
import { neverAborted } from "../../lib/time/never-aborted.ts";
import { resolveRoute } from "../routes/resolve-route.ts";
import { openRouteHttp } from "../routes/route-http.ts";
import { fetchModelList } from "./fetch-list.ts";

async function fetchFrom(
  answers: Answers,
  {
    path = "/v1",
    apiMode = "chat_completions" as "chat_completions" | "anthropic_messages" | "google_generate",
    withinMs = 10_000,
    signal = neverAborted,
  } = {},
) {
  await using server = await startModelsServer(() => answers);
  const settings = storedSettings(
    { provider: "lab", default: "m" },
    {
      lab: {
        base_url: `${server.url}${path}`,
        api_mode: apiMode,
        key_env: "LAB_KEY",
        headers: { "x-team": "a" },
      },
    },
  );
  const { http, safeRoute } = openRouteHttp(
    resolveRoute(settings, {}, () => "secret-key"),
    {},
  );
  await using _ = http;
  const { asked, headers } = server;
  try {
    return { asked, headers, models: await fetchModelList(safeRoute, http, withinMs, signal), problem: "" };
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    return { asked, headers, models: [], problem: error.message };
  }
}

test("B2: each wire format has its own path and its own key header", async () => {
  const list = { data: [{ id: "m", context_length: 1_000 }] };
  const chat = await fetchFrom({ "/v1/models?api-version=1": list }, { path: "/v1?api-version=1" });
  expect(chat.models).toMatchObject([{ name: "m", contextTokens: 1_000 }]);
  expect(chat.headers[0]).toMatchObject({ authorization: "Bearer secret-key", "x-team": "a" });
  const anthropic = await fetchFrom(
    { "/anthropic/v1/models?limit=1000": list },
    { path: "/anthropic", apiMode: "anthropic_messages" },
  );
  expect(anthropic.models).toMatchObject([{ name: "m" }]);
  expect(anthropic.headers[0]).toMatchObject({ "x-api-key": "secret-key", "x-team": "a" });
  expect(anthropic.headers[0]).not.toHaveProperty("authorization");
  const google = await fetchFrom(
    { "/v1beta/models?pageSize=1000": { models: [{ name: "models/m", inputTokenLimit: 9_000 }] } },
    { path: "/v1beta", apiMode: "google_generate" },
  );
  expect(google.models).toMatchObject([{ name: "m", contextTokens: 9_000 }]);
  expect(google.headers[0]).toMatchObject({ "x-goog-api-key": "secret-key" });
});

test("B1: Ollama is asked for the window of each model: the loaded window, else that of its file, else the largest possible", async () => {
  const { models, asked } = await fetchFrom({
    "/v1/models": { data: [{ id: "a:1b" }, { id: "b:1b" }, { id: "c:1b" }, { id: "d:1b" }] },
    "/api/tags": { models: [{ name: "a:1b" }, { name: "b:1b" }, { name: "c:1b" }, { name: "d:1b" }] },
    "/api/ps": { models: [{ name: "a:1b", context_length: 4_096 }] },
    "/api/show": (response: ServerResponse, body: string) => {
      if (body.includes("d:1b")) return response.destroy();
      const parameters = body.includes("b:1b") ? 'stop "x"\nnum_ctx    16384' : "";
      response.end(
        JSON.stringify({ parameters, model_info: { "x.context_length": 40_960 }, capabilities: ["vision"] }),
      );
    },
  });
  expect(models.map(({ name, contextTokens, vision }) => [name, contextTokens, vision])).toEqual([
    ["a:1b", 4_096, true],
    ["b:1b", 16_384, true],
    ["c:1b", 40_960, true],
    ["d:1b", undefined, undefined],
  ]);
  expect(asked).toContain("POST /api/show");
});

test("B2: a local server that is not Ollama still lists its models' names", async () => {
  const { models } = await fetchFrom({ "/v1/models": { data: [{ id: "m" }] } });
  expect(models).toMatchObject([{ name: "m" }]);
});

type Respond = (response: ServerResponse) => void;
const BAD: readonly (readonly [string, Respond, RegExp])[] = [
  ["is silent", () => undefined, /did not answer within 0\.3 s/],
  [
    "stops in the middle",
    (response) => void response.writeHead(200).write('{"data":['),
    /did not answer within/,
  ],
  ["breaks the connection", (response) => response.destroy(), /Cannot reach|broke/],
  [
    "breaks its answer",
    (response) => {
      response.writeHead(200, { "content-length": "100" }).write("{");
      setTimeout(() => response.destroy(), 50);
    },
    /broke|Cannot reach/,
  ],
  ["sends HTML", (response) => response.end("<html>"), /not JSON/],
  ["sends no list", (response) => response.end('{"error":"x"}'), /not a list of models/],
  ["refuses the key", (response) => response.writeHead(401).end("{}"), /status 401/],
  ["redirects", (response) => response.writeHead(302, { location: "/else" }).end(), /status 302/],
];
test.each(BAD)("B2: a server that %s gives a problem, not a list", async (_, respond, expected) => {
  const isSilent = expected.source.startsWith("did not answer");
  const { problem } = await fetchFrom({ "/v1/models": respond }, { withinMs: isSilent ? 300 : 60_000 });
  expect(problem).toMatch(expected);
  expect(problem).not.toContain("secret-key");
});

test("B2: a list without end is cut off", async () => {
  const bytes = randomBytes(1024 * 1024).toString("base64");
  const { problem } = await fetchFrom({
    "/v1/models": (response: ServerResponse) => {
      const send = (): void => {
        while (!response.destroyed && response.write(bytes));
      };
      response.writeHead(200).on("drain", send);
      send();
    },
  });
  expect(problem).toMatch(/more than 16777216 bytes/);
});

test("an abort ends the request with its reason", async () => {
  const stop = new AbortController();
  const silent = () => setImmediate(() => stop.abort(new Error("stopped")));
  await expect(fetchFrom({ "/v1/models": silent }, { signal: stop.signal })).rejects.toThrow("stopped");
});
