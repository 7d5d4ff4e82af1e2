import { request } from "node:http";
import { expect, test } from "vitest";
import { addKey, MAIN_KEY, openApiLab } from "../../../test/support/api-lab.ts";

interface Endpoint {
  readonly method: string;
  readonly path: string;
  readonly scope: string | null;
}

/** The routes, as the server itself lists them. */
async function listEndpoints(lab: Awaited<ReturnType<typeof openApiLab>>): Promise<Endpoint[]> {
  const { endpoints } = (await (await lab.send("/v1/capabilities")).json()) as { endpoints: Endpoint[] };
  expect(endpoints.length).toBeGreaterThan(10);
  return endpoints;
}
const pathOf = ({ path }: Endpoint): string => path.replace(":id", "run_000000000000000000000000");
const statusOf = async (response: Promise<Response>): Promise<number> => {
  const { status, body } = await response;
  await body?.cancel();
  return status;
};

test("H2, board G39: every route but health is refused without a key and with a wrong one", async () => {
  await using lab = await openApiLab({});
  for (const endpoint of await listEndpoints(lab)) {
    const isPublic = endpoint.scope === null;
    expect(isPublic).toBe(endpoint.path.endsWith("/health"));
    for (const key of [null, "wrong", `${MAIN_KEY}x`, ""]) {
      const status = await statusOf(lab.send(pathOf(endpoint), { method: endpoint.method, key }));
      expect([endpoint.path, key, status]).toEqual([endpoint.path, key, isPublic ? 200 : 401]);
    }
  }
});

test("H2: every route with a scope is refused for a key that has all other scopes", async () => {
  await using lab = await openApiLab({});
  const scopes = ["chat", "runs", "sessions", "jobs", "metrics", "admin"] as const;
  const keys = new Map<string, string>();
  for (const scope of scopes) keys.set(scope, await addKey(lab, ...scopes.filter((one) => one !== scope)));
  for (const endpoint of await listEndpoints(lab)) {
    const key = keys.get(endpoint.scope ?? "");
    if (key === undefined) continue;
    const response = await lab.send(pathOf(endpoint), { method: endpoint.method, key });
    expect([endpoint.path, response.status]).toEqual([endpoint.path, 403]);
    expect(await response.text()).toMatch(/"code":"scope.missing"/);
  }
});

test("H2: a path that is no route is refused like any other without a key, and 404 with one", async () => {
  await using lab = await openApiLab({});
  expect(await statusOf(lab.send("/admin", { key: null }))).toBe(401);
  expect(await statusOf(lab.send("/admin"))).toBe(404);
  expect(await statusOf(lab.send("/v1/models", { method: "PUT" }))).toBe(404);
  expect(await statusOf(lab.send("/v1/runs/%2e%2e/%2e%2e/etc/passwd"))).toBe(404);
});

test("H3: answers forbid sniffing, referrers and caching, and errors have OpenAI's shape", async () => {
  await using lab = await openApiLab({});
  const response = await lab.send("/v1/runs/run_unknown");
  expect(response.status).toBe(404);
  expect(Object.fromEntries(response.headers)).toMatchObject({
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cache-control": "no-store",
  });
  expect(await response.json()).toEqual({
    error: {
      message: "There is no run run_unknown.",
      type: "not_found_error",
      param: null,
      code: "run_not_found",
    },
  });
});

test("H4: a route that is not OpenAI's has errors with a code and a hint", async () => {
  await using lab = await openApiLab({});
  const response = await lab.send("/metrics", { key: null });
  expect(await response.json()).toMatchObject({ code: "invalid-api-key", hint: null });
});

test("H3: a web page may call the API only from a configured origin", async () => {
  await using lab = await openApiLab(
    {},
    { api_server: { cors_origins: "https://chat.example, https://b.example" } },
  );
  const preflight = (origin: string) =>
    lab.send("/v1/chat/completions", {
      method: "OPTIONS",
      key: null,
      headers: { Origin: origin, "Access-Control-Request-Method": "POST" },
    });
  const allowed = await preflight("https://chat.example");
  expect(allowed.headers.get("access-control-allow-origin")).toBe("https://chat.example");
  expect(allowed.headers.get("access-control-max-age")).toBe("600");
  expect((await preflight("https://evil.example")).headers.get("access-control-allow-origin")).toBeNull();
  await using closed = await openApiLab({});
  const refused = await closed.send("/v1/models", { headers: { Origin: "https://chat.example" } });
  expect(refused.headers.get("access-control-allow-origin")).toBeNull();
});

test.each([
  ["text that is not JSON", "{", 400, "invalid_json"],
  ["a list", "[]", 400, "invalid_request"],
  ["no messages", "{}", 400, "invalid_request"],
  ["an empty list of messages", '{"messages":[]}', 400, "invalid_request"],
  [
    "33 levels",
    message(`${"[".repeat(30)}${"]".repeat(30)}`)
      .replace('"[', "[")
      .replace(']"', "]"),
    400,
    "body_too_deep",
  ],
  ["1,000,000 levels", `${"[".repeat(1_000_000)}${"]".repeat(1_000_000)}`, 400, "body_too_deep"],
  ["a text of 1 MB", message("x".repeat(1_000_000)), 400, "text_too_long"],
  [
    "1,001 parts",
    message(Array.from({ length: 1_001 }, () => ({ type: "text", text: "x" }))),
    400,
    "too_many_parts",
  ],
  ["a body of 11 MB", message("x".repeat(11_000_000)), 413, "body_too_large"],
  ["sound", message([{ type: "input_audio" }]), 400, "unsupported_content_type"],
  ["a file address", message([image("file:///etc/passwd")]), 400, "invalid_image_url"],
  ["an image that is none", message([image("data:image/png;base64,AAAA")]), 400, "invalid_image_url"],
  ["an address of this machine", message([image("http://127.0.0.1:1/x.png")]), 400, "invalid_image_url"],
  [
    "an answer as the last message",
    '{"messages":[{"role":"assistant","content":"x"}]}',
    400,
    "message_missing",
  ],
  [
    "tools without a function",
    '{"messages":[{"role":"user","content":"x"}],"tools":[{}]}',
    400,
    "invalid_request",
  ],
])("H3: a chat completion with %s is refused", async (_what, body, status, code) => {
  await using lab = await openApiLab({});
  const response = await lab.send("/v1/chat/completions", {
    method: "POST",
    body,
    headers: { "Content-Type": "application/json" },
  });
  expect(response.status).toBe(status);
  expect(await response.json()).toMatchObject({ error: { code } });
  expect(lab.errors).toEqual([]);
});

test("H3: a body without a stated length is cut off at the limit", async () => {
  await using lab = await openApiLab({});
  const status = await new Promise<number | undefined>((resolve, reject) => {
    const sending = request(`${lab.url}/v1/responses`, {
      method: "POST",
      headers: { Authorization: `Bearer ${MAIN_KEY}`, "Content-Type": "application/json" },
    });
    let answered = false;
    sending.on("response", (response) => {
      answered = true;
      response.resume();
      resolve(response.statusCode);
      sending.destroy();
    });
    sending.on("error", (error) => (answered ? undefined : reject(error)));
    const piece = "x".repeat(1_000_000);
    const send = (): void => {
      while (!answered && sending.write(piece));
      if (!answered) sending.once("drain", send);
    };
    send();
  });
  expect(status).toBe(413);
});

test("H3: a form of a web page is refused, because it needs no preflight", async () => {
  await using lab = await openApiLab({});
  const init = { method: "POST", body: "{}", headers: { "Content-Type": "text/plain" } };
  expect(await statusOf(lab.send("/v1/runs", init))).toBe(415);
});

function message(content: unknown): string {
  return JSON.stringify({ messages: [{ role: "user", content }] });
}

function image(url: string) {
  return { type: "image_url", image_url: { url } };
}
