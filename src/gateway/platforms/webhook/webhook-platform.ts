import { createHash, randomUUID } from "node:crypto";
import { messageOf } from "../../../lib/errors.ts";
import {
  type HttpClient,
  listCaFiles,
  openHttpClient,
  readProxySettings,
} from "../../../lib/http/http-client.ts";
import { isTooDeep } from "../../../lib/text/json-depth.ts";
import { openDeadline } from "../../../lib/time/deadline.ts";
import {
  type InboundMessage,
  type InboundSink,
  type OutboundPart,
  type Platform,
  PlatformFailure,
  type SendResult,
} from "../../platform.ts";
import type { PlatformParts } from "../platform-parts.ts";
import type { WebhookOptions, WebhookRoute } from "./options.ts";
import { renderPrompt } from "./render-prompt.ts";
import { signStandard, VERIFIERS } from "./verify-request.ts";
import { openWebhookListener, type PostedAnswer, type PostedRequest } from "./webhook-listener.ts";

const PREFIX = "/webhooks/";
const MAX_TEXT_LENGTH = 100_000;
const SILENCE_LIMIT_MS = 150_000;
const PROBE_EVERY_MS = 60_000;
/** A sender does not wait for space on our disk; it sends again. */
const STORE_WITHIN_MS = 10_000;
const ANSWER_WITHIN_MS = 30_000;
const WINDOW_MS = 60_000;
const MAX_ID_LENGTH = 100;

/** A route that is listened to, with the secret that proves its requests. */
interface OpenRoute extends WebhookRoute {
  readonly secret: string;
  /** When its latest requests were accepted. */
  readonly acceptedAt: number[];
}

export function open(options: WebhookOptions, parts: PlatformParts): Platform {
  return {
    account: "webhook",
    capabilities: {
      maxTextLength: MAX_TEXT_LENGTH,
      textUnit: "code-points",
      markdown: "none",
      hasButtons: false,
      maxFileBytes: 0,
      actions: [],
      silenceLimitMs: SILENCE_LIMIT_MS,
      answersStrangers: false,
    },
    async connect(sink, signal) {
      signal.throwIfAborted();
      const routes = openRoutes(options, parts);
      const stop = new AbortController();
      let end: (failure: PlatformFailure) => void = () => undefined;
      const stored = new Promise<PlatformFailure>((resolve) => {
        end = resolve;
      });
      const receive = (request: PostedRequest): Promise<PostedAnswer> =>
        receiveRequest(request, { routes, options, parts, sink, end });
      const { host, port, max_body_bytes: maxBodyBytes } = options;
      const listener = await openWebhookListener({ host, port, maxBodyBytes }, receive);
      const http = openHttpClient({
        proxy: readProxySettings(parts.variables),
        caFiles: listCaFiles(undefined, parts.variables),
      });
      sink.alive();
      const ended = Promise.race([stored, listener.failed, probe(options, { parts, sink }, stop.signal)]);
      const close = async (): Promise<void> => {
        stop.abort();
        await listener[Symbol.asyncDispose]();
        await http[Symbol.asyncDispose]();
      };
      let isOpen = true;
      void ended.then(() => {
        isOpen = false;
        return close();
      });
      return {
        ended,
        async send(part, within) {
          if (!isOpen || within.aborted) return notSent("the listener has ended");
          return await postAnswer(part, { routes, http, parts }, within);
        },
        findSent: async () => ({ certainty: "unknown", reason: "receivers of answers are not asked" }),
        act: async () => ({ ok: false }),
        async [Symbol.asyncDispose]() {
          isOpen = false;
          await close();
        },
      };
    },
  };
}

/** The enabled routes. Throws if one of them cannot be served safely; then no route is served. */
function openRoutes(options: WebhookOptions, parts: PlatformParts): ReadonlyMap<string, OpenRoute> {
  const routes = new Map<string, OpenRoute>();
  for (const route of options.routes) {
    if (!route.enabled) continue;
    const { name, verify, secret_env: variable } = route;
    const fail = (why: string): never => {
      throw new PlatformFailure("misconfigured", `the route ${name}: ${why}`);
    };
    const secret = (variable === undefined ? options.secret : parts.variable(variable)) ?? "";
    if (routes.has(name)) fail("the name is used twice");
    if (verify === "none" && !isLoopback(options.host))
      fail(
        `requests without a signature are accepted only on a loopback address, and host is ${options.host}`,
      );
    if (verify !== "none" && secret === "") fail(`${variable ?? "WEBHOOK_SECRET"} is not set`);
    if (route.deliver_only && route.deliver === undefined) fail("deliver_only needs deliver");
    routes.set(name, { ...route, secret, acceptedAt: [] });
  }
  return routes;
}

function isLoopback(host: string): boolean {
  return /^(?:localhost|127(?:\.\d{1,3}){3}|::1)$/i.test(host);
}

interface ReceivingParts {
  readonly routes: ReadonlyMap<string, OpenRoute>;
  readonly options: WebhookOptions;
  readonly parts: PlatformParts;
  readonly sink: InboundSink;
  end(failure: PlatformFailure): void;
}

async function receiveRequest(
  { path, body, header }: PostedRequest,
  { routes, options, parts, sink, end }: ReceivingParts,
): Promise<PostedAnswer> {
  const route = path.startsWith(PREFIX) ? routes.get(path.slice(PREFIX.length)) : undefined;
  if (route === undefined) return { status: 404, message: "no such route" };
  const now = parts.clock.now();
  const id =
    route.verify === "none"
      ? (header("x-request-id") ?? randomUUID())
      : VERIFIERS[route.verify]({ header, body }, route.secret, now);
  if (id === undefined) {
    parts.log.debug("a webhook request without a valid signature was refused", { route: route.name });
    return { status: 401, message: "the signature is missing, wrong or too old" };
  }
  sink.alive();
  while ((route.acceptedAt[0] ?? now) <= now - WINDOW_MS) route.acceptedAt.shift();
  if (route.acceptedAt.length >= options.rate_limit_per_minute)
    return { status: 429, message: "too many requests", retryAfterSeconds: WINDOW_MS / 1_000 };
  const payload = parseJson(body);
  if (payload === undefined) return { status: 400, message: "the body is not JSON" };
  const event = eventOf(header, payload);
  if (route.events.length > 0 && !route.events.includes(event ?? ""))
    return { status: 200, message: "ignored" };
  route.acceptedAt.push(now);
  const text = renderPrompt(route.prompt, { route: route.name, name: event, payload });
  using deadline = openDeadline(new AbortController().signal, STORE_WITHIN_MS);
  try {
    await sink.store([toInbound(route, { id: shortId(id), text, now })], undefined, deadline.signal);
  } catch (error) {
    if (!deadline.isOver) end(new PlatformFailure("not-stored", messageOf(error), { cause: error }));
    return { status: 503, message: "not stored, try again", retryAfterSeconds: 5 };
  }
  return { status: 202, message: "accepted" };
}

function toInbound(
  route: OpenRoute,
  { id, text, now }: { readonly id: string; readonly text: string; readonly now: number },
): InboundMessage {
  const { name, toolsets, deliver, deliver_only: isRelay } = route;
  return {
    id,
    chat: { chatId: name, threadId: id, type: "dm", name },
    sender: { id: name, name: `webhook ${name}`, isBot: false, isProven: true }, // with `verify: none`, the settings say so
    text,
    sentAt: now,
    isAddressed: true,
    toolsets,
    ...(deliver !== undefined && {
      replyTo: { platform: deliver.platform, chatId: deliver.chat, threadId: deliver.thread },
    }),
    ...(isRelay && { handling: "relay" as const }),
  };
}

/** Undefined for text that is not JSON or is nested too deeply. */
function parseJson(body: Uint8Array): unknown {
  try {
    const value: unknown = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(body));
    return isTooDeep(value) ? undefined : value;
  } catch {
    return undefined;
  }
}

/** Ids come from senders and may be of any length. */
function shortId(id: string): string {
  return id.length <= MAX_ID_LENGTH ? id : createHash("sha256").update(id).digest("hex");
}

const EVENT_HEADERS = ["x-github-event", "x-gitlab-event", "x-webhook-event"];

function eventOf(header: PostedRequest["header"], payload: unknown): string | undefined {
  const named = EVENT_HEADERS.map(header).find((name) => name !== undefined);
  if (named !== undefined || typeof payload !== "object" || payload === null) return named;
  const { type, event } = payload as Record<string, unknown>;
  return [type, event].find((one) => typeof one === "string");
}

/** Sends a request to our own listener at intervals; resolves with the failure when it does not answer. */
async function probe(
  { host, port }: WebhookOptions,
  { parts, sink }: { readonly parts: PlatformParts; readonly sink: InboundSink },
  signal: AbortSignal,
): Promise<PlatformFailure> {
  const name = ["0.0.0.0", "::"].includes(host) ? "localhost" : host.includes(":") ? `[${host}]` : host;
  await using http = openHttpClient({ proxy: {} });
  try {
    for (;;) {
      await parts.clock.sleep(PROBE_EVERY_MS, signal);
      using deadline = openDeadline(signal, ANSWER_WITHIN_MS);
      const request = { method: "GET", headers: {}, body: "" };
      const { status } = await http.exchange(`http://${name}:${port}/health`, request, deadline.signal);
      if (status !== 200) throw new Error(`it answered ${status}`);
      sink.alive();
    }
  } catch (error) {
    return new PlatformFailure("unreachable", `the listener does not answer: ${messageOf(error)}`);
  }
}

/** Posts an answer to the route's `answer_url`. Each attempt has the same `webhook-id`, by which receivers know a repetition. */
async function postAnswer(
  { id, chat, content }: OutboundPart,
  {
    routes,
    http,
    parts,
  }: {
    readonly routes: ReadonlyMap<string, OpenRoute>;
    readonly http: HttpClient;
    readonly parts: PlatformParts;
  },
  signal: AbortSignal,
): Promise<SendResult> {
  const route = routes.get(chat.chatId);
  if (route?.answer_url === undefined)
    return notSent(`the route ${chat.chatId} has neither deliver nor answer_url`, true);
  if (content.type !== "text") return notSent("only text can be posted", true);
  const body = JSON.stringify({ route: route.name, delivery: chat.threadId, text: content.text });
  const time = String(Math.floor(parts.clock.now() / 1_000));
  const signature =
    route.secret === "" ? {} : { "webhook-signature": signStandard(route.secret, { id, time, body }) };
  const headers = {
    "content-type": "application/json",
    "webhook-id": id,
    "webhook-timestamp": time,
    ...signature,
  };
  let isWritten = false;
  const onSent = (): void => {
    isWritten = true;
  };
  using deadline = openDeadline(signal, ANSWER_WITHIN_MS);
  try {
    const response = await http.exchange(
      route.answer_url,
      { method: "POST", headers, body, onSent },
      deadline.signal,
    );
    const { status } = response;
    await response.read().catch(() => undefined);
    if (status >= 200 && status < 300) return { certainty: "sent", messageId: undefined };
    const reason = `the receiver answered ${status}`;
    if (status >= 500) return { certainty: "unknown", reason };
    return notSent(reason, status !== 408 && status !== 429);
  } catch (error) {
    const reason = deadline.isOver ? "the receiver did not answer in time" : messageOf(error);
    return isWritten ? { certainty: "unknown", reason } : notSent(reason);
  }
}

function notSent(reason: string, isFinal = false): SendResult {
  return { certainty: "not-sent", reason, isFinal };
}
