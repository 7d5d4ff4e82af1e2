import type { Clock } from "../../lib/clock.ts";
import type { HttpTrouble } from "../classify-failure.ts";
import type { RequestTimeouts } from "../timeouts.ts";

type Fetch = typeof globalThis.fetch;

export interface AttemptOptions {
  readonly fetch: Fetch;
  readonly clock: Clock;
  readonly timeouts: RequestTimeouts;
  /** Headers that go out only if they have a value: the SDK insists on some. */
  readonly dropEmpty: readonly string[];
}

/** One request on the wire. Disposing of it closes the connection, unless the answer may still end by itself. */
export interface Attempt extends Disposable {
  readonly signal: AbortSignal;
  readonly fetch: Fetch;
  /** The body, once it is on its way. */
  readonly sent: Promise<string>;
  /** Rejects when the attempt is aborted, by the caller or by a time-out. */
  readonly ended: Promise<never>;
  /** Whether the headers of the answer have come. */
  readonly answering: boolean;
  /** All that matters has come: gives the answer a moment to end, so that its connection can be used again. */
  letEnd(rest: ReadableStreamDefaultReader): void;
}

/** We waited too long. */
export class StalledError extends Error {
  override readonly name = "StalledError";
  readonly waitedMs: number;
  /** Whether nothing came all that time; otherwise the whole request took too long. */
  readonly silent: boolean;
  constructor(waitedMs: number, silent: boolean) {
    super(`waited for ${waitedMs} ms`);
    this.waitedMs = waitedMs;
    this.silent = silent;
  }
}

/** The server answered, but not with the stream that was asked for. */
export class AnswerError extends Error {
  override readonly name = "AnswerError";
  readonly trouble: HttpTrouble;
  constructor(trouble: HttpTrouble) {
    super(`HTTP ${trouble.status}`);
    this.trouble = trouble;
  }
}

/** Why an attempt is aborted that is over anyway; made once, because a stack for each would cost more than its use. */
const OVER = new Error("the request is over");
const LAST_MOMENT_MS = 1_000;
const LARGEST_ERROR_BODY = 64 * 1024;

/** Prepares one request; it is sent when its `fetch` is called. */
export function openAttempt(
  { fetch, clock, timeouts, dropEmpty }: AttemptOptions,
  signal: AbortSignal,
): Attempt {
  const controller = new AbortController();
  const onAbort = () => controller.abort(signal.reason);
  signal.addEventListener("abort", onAbort, { once: true });
  if (signal.aborted) onAbort();

  const sent = withResolvers<string>();
  const ended = withResolvers<never>();
  ended.promise.catch(() => undefined); // whoever awaits it has its own handler
  controller.signal.addEventListener("abort", () => ended.reject(controller.signal.reason), { once: true });
  if (controller.signal.aborted) ended.reject(controller.signal.reason);

  const startedAt = clock.now();
  let answering = false;
  let ending = false;
  /** Since when we wait for the other side; not while our own reader takes its time. */
  let waitingSince: number | undefined = startedAt;

  const overdueAfter = (now: number) =>
    Math.min(
      timeouts.requestMs - (now - startedAt),
      waitingSince === undefined ? timeouts.staleMs : timeouts.staleMs - (now - waitingSince),
    );
  const watch = async () => {
    for (let left = overdueAfter(clock.now()); left > 0; left = overdueAfter(clock.now()))
      await clock.sleep(left, controller.signal);
    const silent = clock.now() - startedAt < timeouts.requestMs;
    const since = silent ? (waitingSince ?? startedAt) : startedAt;
    controller.abort(new StalledError(clock.now() - since, silent));
  };
  watch().catch(() => undefined); // only the end of the attempt ends its sleep early

  const watched = (body: ReadableStream<Uint8Array>) => {
    const reader = body.getReader();
    return new ReadableStream<Uint8Array>({
      async pull(stream) {
        waitingSince = clock.now();
        const { done, value } = await reader.read();
        waitingSince = undefined;
        if (done) stream.close();
        else stream.enqueue(value);
      },
      cancel: (reason) => reader.cancel(reason),
    });
  };

  return {
    signal: controller.signal,
    sent: sent.promise,
    ended: ended.promise,
    get answering() {
      return answering;
    },
    async fetch(input, init = {}) {
      const headers = new Headers(init.headers);
      for (const name of dropEmpty) if (headers.get(name) === "") headers.delete(name);
      // A redirect would carry the key to wherever it points.
      const request: RequestInit = {
        ...init,
        headers: [...headers],
        redirect: "manual",
        signal: controller.signal,
      };
      const responding = fetch(input, request);
      sent.resolve(typeof init.body === "string" ? init.body : "");
      const response = await responding;
      answering = true;
      waitingSince = undefined;
      const { status } = response;
      const contentType = response.headers.get("content-type") ?? "";
      const body = response.body === null ? null : watched(response.body);
      if (response.ok && !/^(?:text\/html|application\/json)\b/i.test(contentType))
        return new Response(body, { status, headers: [...response.headers] });
      throw new AnswerError({
        type: "http",
        status,
        contentType,
        retryAfter: response.headers.get("retry-after") ?? undefined,
        body: body === null ? "" : await readStart(body),
      });
    },
    letEnd(rest) {
      ending = true;
      const close = () => controller.abort(OVER);
      const timer = setTimeout(close, LAST_MOMENT_MS);
      timer.unref(); // the program may end meanwhile
      readToEnd(rest)
        .catch(() => undefined) // the answer was whole before
        .finally(() => {
          clearTimeout(timer);
          close();
        });
    },
    [Symbol.dispose]() {
      signal.removeEventListener("abort", onAbort);
      if (!ending) controller.abort(OVER);
    },
  };
}

async function readToEnd(reader: ReadableStreamDefaultReader): Promise<void> {
  for (let next = await reader.read(); !next.done; next = await reader.read());
}

/** As much of a body as can matter, however much there is. */
async function readStart(body: ReadableStream<Uint8Array>): Promise<string> {
  const decoder = new TextDecoder();
  let text = "";
  for await (const chunk of body) {
    text += decoder.decode(chunk, { stream: true });
    if (text.length >= LARGEST_ERROR_BODY) break;
  }
  return text;
}

function withResolvers<Value>() {
  let resolve: (value: Value) => void = () => undefined;
  let reject: (reason: unknown) => void = () => undefined;
  const promise = new Promise<Value>((onValue, onReason) => {
    resolve = onValue;
    reject = onReason;
  });
  return { promise, resolve, reject };
}
