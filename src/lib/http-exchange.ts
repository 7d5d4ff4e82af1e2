import type { Transform } from "node:stream";
import type { Dispatcher } from "undici";
import { openDecoder } from "./http-decoder.ts";

export interface HttpRequest {
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Uint8Array;
  /** Called when the request goes out on its connection. */
  readonly onSent?: () => void;
}

/** An answer whose headers have come. What is read of it is not kept. */
export interface HttpAnswer {
  readonly status: number;
  header(name: string): string | undefined;
  /** Its next bytes, no longer compressed, undefined at its end; rejects when the connection breaks or the signal aborts. One at a time. */
  read(): Promise<Buffer | undefined>;
  /** Resolves when the last byte has come, read or not; it never rejects. */
  readonly ended: Promise<void>;
}

const MOST_UNREAD = 1024 * 1024;

/**
 * Sends a request and hands out its answer piece by piece, with nothing between the connection and the reader: the
 * streams of `fetch` cost a step of the agent more than everything that it writes down. Redirects are answers like others.
 */
export function exchange(
  dispatcher: Dispatcher,
  url: URL,
  { method, headers, body, onSent }: HttpRequest,
  signal: AbortSignal,
): Promise<HttpAnswer> {
  const unread: Buffer[] = [];
  let unreadBytes = 0;
  let controller: Dispatcher.DispatchController | undefined;
  let decoder: Transform | undefined;
  let outcome: "open" | "whole" | { readonly error: unknown } = "open";
  let reader: { resolve(chunk: Buffer | undefined): void; reject(error: unknown): void } | undefined;
  let onEnd: () => void = () => undefined;
  const ended = new Promise<void>((resolve) => {
    onEnd = resolve;
  });

  return new Promise((resolve, reject) => {
    const finish = (how: Exclude<typeof outcome, "open">): void => {
      if (outcome !== "open") return;
      outcome = how;
      signal.removeEventListener("abort", onAbort);
      if (how === "whole") reader?.resolve(undefined);
      else {
        reject(how.error);
        reader?.reject(how.error);
      }
      reader = undefined;
      onEnd();
    };
    /** What has come before the end is read before it. */
    const finishDecoded = (how: Exclude<typeof outcome, "open">): void => {
      if (decoder === undefined) finish(how);
      else decoder.once("end", () => finish(how)).end();
    };
    const take = (chunk: Buffer): void => {
      if (reader !== undefined) {
        reader.resolve(chunk);
        reader = undefined;
        return;
      }
      unread.push(chunk);
      unreadBytes += chunk.length;
      if (unreadBytes <= MOST_UNREAD) return;
      controller?.pause();
      decoder?.pause(); // a few bytes can become many
    };
    const onAbort = (): void => {
      unread.length = 0;
      // Without a connection there is nothing to abort yet, and nobody should wait for one.
      finish({ error: signal.reason });
      controller?.abort(ABORTED);
      decoder?.destroy();
    };
    const answer = (status: number, fields: Dispatcher.ResponseData["headers"]): HttpAnswer => ({
      status,
      ended,
      header(name) {
        const value = fields[name];
        return Array.isArray(value) ? value[0] : value;
      },
      read() {
        const chunk = unread.shift();
        if (chunk !== undefined) {
          unreadBytes -= chunk.length;
          if (unreadBytes === 0) {
            decoder?.resume();
            if (controller?.paused) controller.resume();
          }
          return Promise.resolve(chunk);
        }
        if (outcome === "whole") return Promise.resolve(undefined);
        if (outcome !== "open") return Promise.reject(outcome.error);
        return new Promise((onChunk, onError) => {
          reader = { resolve: onChunk, reject: onError };
        });
      },
    });

    if (signal.aborted) return reject(signal.reason);
    signal.addEventListener("abort", onAbort, { once: true });
    dispatcher.dispatch(
      // The dispatcher counts on the object being its own.
      {
        origin: url.origin,
        path: url.pathname + url.search,
        method: method as "POST",
        headers: { ...headers },
        body,
      },
      {
        onRequestStart(started) {
          controller = started;
          if (signal.aborted) started.abort(ABORTED);
          else onSent?.();
        },
        onResponseStart(_, status, fields) {
          if (status < 200) return;
          const begun = answer(status, fields);
          decoder = openDecoder(begun.header("content-encoding"))
            ?.on("data", take)
            .on("error", (error) => finish({ error }));
          resolve(begun);
        },
        onResponseData: (_, chunk) => (decoder === undefined ? take(chunk) : void decoder.write(chunk)),
        onResponseEnd: () => finishDecoded("whole"),
        onResponseError: (_, error) => finishDecoded({ error }),
      },
    );
  });
}

/** Only ends the connection: who aborted knows why. Made once, because a stack for each would cost more than its use. */
const ABORTED = new Error("the request was aborted");
