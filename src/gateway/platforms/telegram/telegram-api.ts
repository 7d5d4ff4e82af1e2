import { Api, GrammyError, HttpError } from "grammy/web";
import { messageOf } from "../../../lib/errors.ts";
import { listCaFiles, openHttpClient, readProxySettings } from "../../../lib/http/http-client.ts";
import type { HttpResponse } from "../../../lib/http/http-exchange.ts";
import { openDeadline } from "../../../lib/time/deadline.ts";
import { PlatformFailure } from "../../platform.ts";
import type { PlatformParts } from "../platform-parts.ts";
import type { TelegramOptions } from "./options.ts";

/** The Bot API over our own HTTP client, with its proxy and certificate settings. No error of it contains the token. */
export interface TelegramApi extends AsyncDisposable {
  /** Calls methods within a time limit; `onSent` runs when a request is on its way. */
  call<Result>(
    use: (api: Api) => Promise<Result>,
    limits: { readonly withinMs: number; readonly onSent?: () => void },
    signal: AbortSignal,
  ): Promise<Result>;
  /** The content of a file; rejects if it is larger than `maxBytes`. */
  download(path: string, maxBytes: number, signal: AbortSignal): Promise<Uint8Array>;
}

const DOWNLOAD_WITHIN_MS = 120_000;
/** A batch of a hundred updates is smaller. */
const MAX_ANSWER_BYTES = 16 * 1024 * 1024;

export function openTelegramApi(
  { token, base_url: baseUrl, proxy }: TelegramOptions,
  { variables }: PlatformParts,
): TelegramApi {
  const root = baseUrl.replace(/\/+$/, "");
  const http = openHttpClient({
    proxy: proxy === "" ? readProxySettings(variables) : { httpProxy: proxy, httpsProxy: proxy },
    caFiles: listCaFiles(undefined, variables),
  });

  /** The part of `fetch` that the library uses. */
  const fetchWith = (onSent: () => void, signal: AbortSignal) => async (input: unknown, init: unknown) => {
    const { headers, body } = init as RequestInit & { headers: Record<string, string> };
    const { connection: _, ...kept } = headers;
    const request = { method: "POST", headers: kept, body: await wholeBody(body), onSent };
    const response = await http.exchange(String(input), request, signal);
    const text = Buffer.from(await readBytes(response, MAX_ANSWER_BYTES)).toString("utf8");
    return { json: async () => parseAnswer(text, response.status) } as Response;
  };

  return {
    async call(use, { withinMs, onSent = () => undefined }, signal) {
      signal.throwIfAborted();
      using deadline = openDeadline(signal, withinMs);
      const api = new Api(token, {
        apiRoot: root,
        fetch: fetchWith(onSent, deadline.signal) as typeof fetch,
      });
      try {
        return await use(api);
      } catch (error) {
        if (deadline.isOver) throw new Error("the server did not answer in time");
        throw error;
      }
    },
    async download(path, maxBytes, signal) {
      using deadline = openDeadline(signal, DOWNLOAD_WITHIN_MS);
      const plain = path.split("/").map(encodeURIComponent).join("/");
      const request = { method: "GET", headers: {}, body: "" };
      const response = await http.exchange(`${root}/file/bot${token}/${plain}`, request, deadline.signal);
      if (response.status !== 200) throw new Error(`the server answered ${response.status}`);
      return await readBytes(response, maxBytes);
    },
    [Symbol.asyncDispose]: () => http[Symbol.asyncDispose](),
  };
}

/** Uploads are made of pieces; they are small enough to be sent as one. */
async function wholeBody(body: unknown): Promise<string | Uint8Array> {
  if (typeof body === "string") return body;
  const pieces: Uint8Array[] = [];
  for await (const piece of body as AsyncIterable<Uint8Array>) pieces.push(piece);
  return Buffer.concat(pieces);
}

async function readBytes(response: HttpResponse, maxBytes: number): Promise<Uint8Array> {
  const chunks: Buffer[] = [];
  let length = 0;
  for (let chunk = await response.read(); chunk !== undefined; chunk = await response.read()) {
    length += chunk.length;
    if (length > maxBytes) throw new Error(`it is larger than ${maxBytes} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

/** A proxy or a server in trouble answers with a page instead of JSON. */
function parseAnswer(text: string, status: number): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return {
      ok: false,
      error_code: status >= 400 ? status : 502,
      description: `the server answered ${status}`,
    };
  }
}

/** The refusal of the server, if it has answered. */
export function refusalOf(error: unknown): GrammyError | undefined {
  return error instanceof GrammyError ? error : undefined;
}

/** Describes an error; the description contains neither the token nor the text of the message. */
export function describeError(error: unknown): string {
  if (error instanceof GrammyError) return `Telegram answered: ${error.description}`;
  return messageOf(error instanceof HttpError ? error.error : error);
}

/** How many milliseconds the server demands to wait before the next request. */
export function retryAfterMs(error: unknown): number | undefined {
  const seconds = refusalOf(error)?.parameters.retry_after;
  return seconds === undefined ? undefined : seconds * 1_000;
}

/** Why a call that keeps us connected has failed. */
export function connectionFailure(error: unknown): PlatformFailure {
  const status = refusalOf(error)?.error_code;
  if (status === 401 || status === 404)
    return new PlatformFailure("refused", "Telegram does not accept TELEGRAM_BOT_TOKEN; was it revoked?");
  const wait = retryAfterMs(error);
  return new PlatformFailure(
    "unreachable",
    describeError(error),
    wait === undefined ? {} : { retryAfterMs: wait },
  );
}
