import { createHmac } from "node:crypto";
import { createServer } from "node:http";
import { connect } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { collectMessages } from "../../../../test/support/collect-messages.ts";
import { freePort } from "../../../../test/support/free-port.ts";
import { platformParts } from "../../../../test/support/platform-parts.ts";
import { TurnableClock } from "../../../../test/support/turnable-clock.ts";
import { platformContract } from "../../platform.contract.ts";
import type { OutboundPart } from "../../platform.ts";
import { webhookOptions } from "./options.ts";
import { renderPrompt } from "./render-prompt.ts";
import { signStandard, VERIFIERS } from "./verify-request.ts";
import { open } from "./webhook-platform.ts";

const signal = new AbortController().signal;
const SECRET = "a secret of both sides";

/** Opens the platform with one route, on a port of its own. */
async function openRoute(route: object, more: object = {}, parts = platformParts()) {
  const port = await freePort();
  const routes = [{ name: "build", verify: "generic", ...route }];
  const options = webhookOptions.parse({ port, secret: SECRET, routes, ...more });
  const url = `http://127.0.0.1:${port}/webhooks/build`;
  return { platform: open(options, parts), url, port };
}

function signatureHeaders(body: string, nowMs = Date.now()): Record<string, string> {
  const time = String(Math.floor(nowMs / 1_000));
  const signature = createHmac("sha256", SECRET).update(`${time}.${body}`).digest("hex");
  return { "x-webhook-timestamp": time, "x-webhook-signature-v2": signature };
}

async function post(url: string, body: string, headers: Record<string, string>): Promise<number> {
  const response = await fetch(url, { method: "POST", body, headers });
  await response.arrayBuffer();
  return response.status;
}

/** A service that takes answers, and says what came. */
async function startReceiver() {
  const answers: { readonly body: string; readonly headers: NodeJS.Dict<string | string[]> }[] = [];
  const statuses: number[] = [];
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const status = statuses.shift() ?? 204;
    if (status === 0) return void request.socket.destroy();
    if (status < 300) answers.push({ body: Buffer.concat(chunks).toString(), headers: request.headers });
    response.writeHead(status).end();
  });
  const port = await freePort();
  await new Promise<void>((resolve) => server.listen(port, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${port}/answers`,
    answers,
    /** What happens with the next requests; 0 breaks the connection. */
    statuses,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}

const answerTo = (threadId: string, text: string): OutboundPart => ({
  id: "part-1",
  chat: { chatId: "build", threadId },
  content: { type: "text", text },
  createdAt: Date.now(),
});

describe("webhook", () => {
  platformContract(
    async () => {
      const receiver = await startReceiver();
      const { platform, url } = await openRoute({ prompt: "{text}", answer_url: receiver.url });
      const end = new AbortController();
      let sending: Promise<unknown> = Promise.resolve();
      return {
        platform,
        chat: { chatId: "build" },
        // Real senders also try again until a request is accepted.
        async write(text) {
          const body = JSON.stringify({ text });
          const headers = signatureHeaders(body);
          const accepted = async (): Promise<void> => {
            for (;;) {
              if ((await post(url, body, headers).catch(() => 0)) === 202) return;
              await sleep(20, undefined, { signal: end.signal });
            }
          };
          sending = sending.then(accepted).catch(() => undefined);
        },
        async received(count) {
          await expect.poll(() => receiver.answers.length).toBeGreaterThanOrEqual(count);
          return receiver.answers.map(({ body }) => (JSON.parse(body) as { text: string }).text);
        },
        cut: async () => undefined,
        async [Symbol.asyncDispose]() {
          end.abort();
          await sending;
          await receiver[Symbol.asyncDispose]();
        },
      };
    },
    {
      cannotBeCut: "a listener has no connection",
      cannotTell: "receivers of answers have no such question",
    },
  );

  test.each([
    ["no signature at all", {}],
    ["a wrong signature", { ...signatureHeaders("{}"), "x-webhook-signature-v2": "0".repeat(64) }],
    ["the signature of another body", signatureHeaders('{"a":1}')],
    ["a signature from ten minutes ago", signatureHeaders("{}", Date.now() - 600_000)],
    ["a signature from the future", signatureHeaders("{}", Date.now() + 600_000)],
    ["an invalid time", { ...signatureHeaders("{}"), "x-webhook-timestamp": "now" }],
  ])("K21: a request with %s is refused and stored nowhere", async (_, headers) => {
    const { platform, url } = await openRoute({});
    const inbox = collectMessages();
    await using _connection = await platform.connect(inbox, signal);
    expect(await post(url, "{}", headers)).toBe(401);
    expect(inbox.stored).toEqual([]);
  });

  test("K21: a request that is replayed keeps its id, whatever else its headers say", async () => {
    const { platform, url } = await openRoute({});
    const inbox = collectMessages();
    await using _connection = await platform.connect(inbox, signal);
    const headers = signatureHeaders('{"n":1}');
    expect(await post(url, '{"n":1}', { ...headers, "x-request-id": "first" })).toBe(202);
    expect(await post(url, '{"n":1}', { ...headers, "x-request-id": "second" })).toBe(202);
    expect(new Set(inbox.stored.map(({ id }) => id)).size).toBe(1);
  });

  test("K21: routes without a secret, with an unknown variable or with a duplicate name are not served", async () => {
    const refused = { code: "misconfigured", isRetryable: false };
    const attempt = async (route: object, more: object) =>
      (await openRoute(route, more)).platform.connect(collectMessages(), signal);
    await expect(attempt({}, { secret: "" })).rejects.toMatchObject(refused);
    await expect(attempt({ secret_env: "MY_SECRET" }, {})).rejects.toMatchObject({
      ...refused,
      message: "the route build: MY_SECRET is not set",
    });
    const twice = { name: "build", verify: "github" };
    await expect(attempt({}, { routes: [twice, twice] })).rejects.toMatchObject(refused);
  });

  test("K21: requests without a signature are accepted only where the route says so, and only on loopback", async () => {
    const { platform, url } = await openRoute({ verify: "none" }, { secret: "" });
    const inbox = collectMessages();
    await using _connection = await platform.connect(inbox, signal);
    expect(await post(url, "{}", {})).toBe(202);
    expect(inbox.stored[0]?.sender.isProven).toBe(true); // everyone who reaches the route counts as its sender
    const elsewhere = await openRoute({ verify: "none" }, { host: "0.0.0.0" });
    await expect(elsewhere.platform.connect(inbox, signal)).rejects.toMatchObject({ code: "misconfigured" });
  });

  test("a route reads its own secret from the variable that it names", async () => {
    const parts = platformParts({ variable: (name) => (name === "BUILD_SECRET" ? SECRET : undefined) });
    const { platform, url } = await openRoute({ secret_env: "BUILD_SECRET" }, { secret: "of others" }, parts);
    await using _connection = await platform.connect(collectMessages(), signal);
    expect(await post(url, "{}", signatureHeaders("{}"))).toBe(202);
  });

  test("events that a route does not name are ignored, and what is not JSON is refused", async () => {
    const { platform, url } = await openRoute({ events: ["push"], prompt: "{ref} by {by.name}" });
    const inbox = collectMessages();
    await using _connection = await platform.connect(inbox, signal);
    const body = '{"ref":"main","by":{"name":"Anna"}}';
    expect(await post(url, body, { ...signatureHeaders(body), "x-webhook-event": "star" })).toBe(200);
    expect(await post(url, body, { ...signatureHeaders(body), "x-webhook-event": "push" })).toBe(202);
    expect(await post(url, "no", signatureHeaders("no"))).toBe(400);
    const deep = "[".repeat(100_000) + "]".repeat(100_000);
    expect(await post(url, deep, signatureHeaders(deep))).toBe(400);
    expect(inbox.stored.map(({ text }) => text)).toEqual(["main by Anna"]);
  });

  test("a body over the limit, a flood, a wrong path and a wrong method are refused", async () => {
    const clock = new TurnableClock(Date.now());
    const parts = platformParts({ clock });
    const { platform, url } = await openRoute({}, { rate_limit_per_minute: 2, max_body_bytes: 100 }, parts);
    await using _connection = await platform.connect(collectMessages(), signal);
    const long = JSON.stringify("x".repeat(100));
    expect(await post(url, long, signatureHeaders(long))).toBe(413);
    expect(await post(url.replace("build", "other"), "{}", signatureHeaders("{}"))).toBe(404);
    expect((await fetch(url)).status).toBe(405);
    const numbered = async (body: string) => post(url, body, signatureHeaders(body, clock.now()));
    expect([await numbered("1"), await numbered("2"), await numbered("3")]).toEqual([202, 202, 429]);
    await clock.advance(60_000);
    expect(await numbered("4")).toBe(202);
  });

  test("A21: on a full disk a sender is told to try again, nothing is stored later, and the route stays open", async () => {
    const { platform, url } = await openRoute({});
    let within: AbortSignal | undefined;
    const inbox = {
      ...collectMessages(),
      store: (_: unknown, __: unknown, signal?: AbortSignal) =>
        new Promise<void>((_, reject) => {
          within = signal;
          signal?.addEventListener("abort", () => reject(signal.reason));
        }),
    };
    await using connection = await platform.connect(inbox, signal);
    expect(await post(url, "{}", signatureHeaders("{}"))).toBe(503);
    expect(within?.aborted).toBe(true);
    expect(await Promise.race([connection.ended, "open"])).toBe("open");
  });

  test("a body without a length that grows over the limit is cut off", async () => {
    const { platform, port } = await openRoute({}, { max_body_bytes: 100 });
    await using _connection = await platform.connect(collectMessages(), signal);
    const socket = connect(port, "127.0.0.1");
    const answer: string[] = [];
    const closed = new Promise<void>((resolve) => socket.once("close", () => resolve()));
    socket.on("data", (chunk: Buffer) => answer.push(chunk.toString())).on("error", () => undefined);
    socket.write("POST /webhooks/build HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n");
    socket.write(`c8\r\n${"x".repeat(200)}\r\n`);
    await closed;
    expect(answer.join("")).toContain("413");
  });

  test("the answer is posted with a signature and the same id at each attempt, and a lost one is unknown", async () => {
    await using receiver = await startReceiver();
    const { platform } = await openRoute({ answer_url: receiver.url });
    await using connection = await platform.connect(collectMessages(), signal);
    receiver.statuses.push(0, 429, 404, 502);
    const send = () => connection.send(answerTo("d-1", "done"), signal);
    expect(await send()).toMatchObject({ certainty: "unknown" });
    expect(await send()).toMatchObject({ certainty: "not-sent", isFinal: false });
    expect(await send()).toMatchObject({ certainty: "not-sent", isFinal: true });
    expect(await send()).toMatchObject({ certainty: "unknown" });
    expect(await send()).toMatchObject({ certainty: "sent" });
    const [{ body, headers } = { body: "", headers: {} }] = receiver.answers;
    expect(JSON.parse(body)).toEqual({ route: "build", delivery: "d-1", text: "done" });
    expect(headers["webhook-id"]).toBe("part-1");
    const time = String(headers["webhook-timestamp"]);
    expect(headers["webhook-signature"]).toBe(signStandard(SECRET, { id: "part-1", time, body }));
  });

  test("an answer without a configured destination is not sent, and the failure is final", async () => {
    const { platform } = await openRoute({});
    await using connection = await platform.connect(collectMessages(), signal);
    expect(await connection.send(answerTo("d-1", "done"), signal)).toMatchObject({
      certainty: "not-sent",
      isFinal: true,
      reason: "the route build has neither deliver nor answer_url",
    });
  });

  test("an answer goes to the chat that the route names, and a relayed one without a turn", async () => {
    const deliver = { platform: "telegram", chat: "42" };
    const { platform, url } = await openRoute({ deliver, deliver_only: true, prompt: "Build: {state}" });
    const inbox = collectMessages();
    await using _connection = await platform.connect(inbox, signal);
    await post(url, '{"state":"red"}', signatureHeaders('{"state":"red"}'));
    expect(inbox.stored[0]).toMatchObject({
      text: "Build: red",
      handling: "relay",
      replyTo: { platform: "telegram", chatId: "42" },
      toolsets: ["todo"],
    });
  });

  test("a port that another process uses may become free later", async () => {
    const { platform } = await openRoute({});
    await using _first = await platform.connect(collectMessages(), signal);
    await expect(platform.connect(collectMessages(), signal)).rejects.toMatchObject({
      code: "unreachable",
      message: expect.stringContaining("another process listens on 127.0.0.1:"),
    });
  });

  test("while no request arrives, the listener regularly reports that it works", async () => {
    const clock = new TurnableClock();
    const { platform } = await openRoute({}, {}, platformParts({ clock }));
    const inbox = collectMessages();
    await using _connection = await platform.connect(inbox, signal);
    await expect.poll(() => clock.sleeping).toBe(1);
    const before = inbox.aliveCount;
    await clock.advance(60_000);
    await expect.poll(() => inbox.aliveCount).toBeGreaterThan(before);
  });
});

describe("signatures of webhooks", () => {
  const body = Buffer.from('{"a":"ü"}');
  const verify = (kind: keyof typeof VERIFIERS, headers: Record<string, string>, secret = SECRET, now = 0) =>
    VERIFIERS[kind]({ body, header: (name) => headers[name] }, secret, now);

  test("GitHub's signs the body, so another delivery id does not create a new message", () => {
    const signature = createHmac("sha256", SECRET).update(body).digest("hex");
    const first = verify("github", {
      "x-hub-signature-256": `sha256=${signature}`,
      "x-github-delivery": "1",
    });
    expect(first).toBeDefined();
    expect(verify("github", { "x-hub-signature-256": `sha256=${signature}`, "x-github-delivery": "2" })).toBe(
      first,
    );
    expect(verify("github", { "x-hub-signature-256": signature })).toBeUndefined();
    expect(verify("github", { "x-hub-signature-256": `sha256=${signature}` }, "other")).toBeUndefined();
  });

  test("GitLab's is the secret itself", () => {
    expect(verify("gitlab", { "x-gitlab-token": SECRET, "x-gitlab-event-uuid": "u-1" })).toBe("u-1");
    expect(verify("gitlab", { "x-gitlab-token": "guess" })).toBeUndefined();
    expect(verify("gitlab", {})).toBeUndefined();
  });

  // The example of the specification of Standard Webhooks.
  test("one valid signature of Standard Webhooks among several is accepted, for five minutes", () => {
    const secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
    const headers = {
      "webhook-id": "msg_p5jXN8AQM9LWM0D4loKWxJek",
      "webhook-timestamp": "1614265330",
      "webhook-signature": "v1,Zm9v v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
    };
    const request = {
      body: Buffer.from('{"test": 2432232314}'),
      header: (name: string) => headers[name as keyof typeof headers],
    };
    expect(VERIFIERS.standard(request, secret, 1_614_265_330_000)).toBe("msg_p5jXN8AQM9LWM0D4loKWxJek");
    expect(VERIFIERS.standard(request, secret, 1_614_265_330_000 + 301_000)).toBeUndefined();
  });
});

describe("prompts of webhooks", () => {
  const render = (template: string | undefined, payload: unknown) =>
    renderPrompt(template, { route: "build", name: "push", payload });

  test.each([
    ["{a.b} and {list.1}", { a: { b: "x" }, list: ["p", "q"] }, "x and q"],
    [
      "{missing} {a.missing.b} {constructor} {a.__proto__}",
      { a: 1 },
      "{missing} {a.missing.b} {constructor} {a.__proto__}",
    ],
    ["{object} {none}", { object: { x: 1 }, none: null }, '{"x":1} null'],
    ["{text}", { text: "{secret}", secret: "s" }, "{secret}"],
  ])("%j is filled with the fields of the payload", (template, payload, text) => {
    expect(render(template, payload)).toBe(text);
  });

  test("a field that looks like a command of the chat is not run as one", () => {
    expect(render("{comment}", { comment: "/approve 1 always" })).toBe("[build] /approve 1 always");
    expect(render("{comment}", { comment: " \n!new" })).toBe("[build]  \n!new");
  });

  test("long fields and payloads are cut", () => {
    expect(render("{a}", { a: "x".repeat(5_000) }).length).toBeLessThan(2_010);
    expect(render("{__raw__}", { a: "x".repeat(50_000) }).length).toBeLessThan(4_010);
    expect(render(undefined, { a: "x".repeat(50_000) })).toMatch(
      /^The webhook build received the event push/,
    );
  });
});
