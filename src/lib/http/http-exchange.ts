import type { Transform } from "node:stream";
import type { Dispatcher } from "undici";
import { openDecoder } from "./http-decoder.ts";

export interface HttpRequest {
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Uint8Array;
  readonly onSent?: () => void;
}

/** A response whose headers have arrived. Bytes that were read are not kept. */
export interface HttpResponse {
  readonly status: number;
  header(name: string): string | undefined;
  /** Reads all decompressed bytes that have arrived, or waits for the next ones; undefined at the end. Rejects when the connection breaks or the signal aborts. Allows one read at a time. */
  read(): Promise<Buffer | undefined>;
  /** Resolves when the last byte has arrived, read or not; never rejects. */
  readonly ended: Promise<void>;
}

const MAX_UNREAD_BYTES = 1024 * 1024;

/**
 * Sends a request and returns its response, which is read in chunks directly from the connection: the streams of `fetch` cost
 * a step of the agent more time than all its writes to disk. Redirects are not followed.
 */
export function exchange(
  dispatcher: Dispatcher,
  url: URL,
  { method, headers, body, onSent }: HttpRequest,
  signal: AbortSignal,
): Promise<HttpResponse> {
  const unread: Buffer[] = [];
  let unreadBytes = 0;
  let controller: Dispatcher.DispatchController | undefined;
  let decoder: Transform | undefined;
  let outcome: "open" | "complete" | { readonly error: unknown } = "open";
  let reader: { resolve(chunk: Buffer | undefined): void; reject(error: unknown): void } | undefined;
  let onEnd: () => void = () => undefined;
  const ended = new Promise<void>((resolve) => {
    onEnd = resolve;
  });

  return new Promise((resolve, reject) => {
    const finish = (result: Exclude<typeof outcome, "open">): void => {
      if (outcome !== "open") return;
      outcome = result;
      signal.removeEventListener("abort", onAbort);
      if (result === "complete") reader?.resolve(undefined);
      else {
        reject(result.error);
        reader?.reject(result.error);
      }
      reader = undefined;
      onEnd();
    };
    /** Lets the decoder output the bytes that arrived before the end. */
    const finishDecoded = (result: Exclude<typeof outcome, "open">): void => {
      if (decoder === undefined) finish(result);
      else decoder.once("end", () => finish(result)).end();
    };
    const deliver = (chunk: Buffer): void => {
      if (reader !== undefined) {
        reader.resolve(chunk);
        reader = undefined;
        return;
      }
      unread.push(chunk);
      unreadBytes += chunk.length;
      if (unreadBytes <= MAX_UNREAD_BYTES) return;
      controller?.pause();
      decoder?.pause(); // a few compressed bytes can expand to many
    };
    const onAbort = (): void => {
      unread.length = 0;
      // Reject immediately: without a connection there is no controller to abort yet.
      finish({ error: signal.reason });
      controller?.abort(ABORTED);
      decoder?.destroy();
    };
    const createResponse = (status: number, fields: Dispatcher.ResponseData["headers"]): HttpResponse => ({
      status,
      ended,
      header(name) {
        const value = fields[name];
        return Array.isArray(value) ? value[0] : value;
      },
      read() {
        if (unread.length > 0) {
          const bytes = Buffer.concat(unread.splice(0));
          unreadBytes = 0;
          decoder?.resume();
          if (controller?.paused) controller.resume();
          return Promise.resolve(bytes);
        }
        if (outcome === "complete") return Promise.resolve(undefined);
        if (outcome !== "open") return Promise.reject(outcome.error);
        return new Promise((onChunk, onError) => {
          reader = { resolve: onChunk, reject: onError };
        });
      },
    });

    if (signal.aborted) return reject(signal.reason);
    signal.addEventListener("abort", onAbort, { once: true });
    dispatcher.dispatch(
      // A copy of the headers, because the dispatcher expects to own the object.
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
          const response = createResponse(status, fields);
          decoder = openDecoder(response.header("content-encoding"))
            ?.on("data", deliver)
            .on("error", (error) => finish({ error }));
          resolve(response);
        },
        onResponseData: (_, chunk) => (decoder === undefined ? deliver(chunk) : void decoder.write(chunk)),
        onResponseEnd: () => finishDecoded("complete"),
        onResponseError: (_, error) => finishDecoded({ error }),
      },
    );
  });
}

/** Ends the connection only; callers get the reason of their signal. Created once, because a stack trace per abort is costly. */
const ABORTED = new Error("the request was aborted");
