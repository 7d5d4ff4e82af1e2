import { shorten } from "../../lib/text/shorten.ts";

const LONGEST_QUOTE = 300;

export interface VendorError {
  /** One line without control characters; empty if the vendor gave no text. */
  readonly text: string;
  /** The vendor's own codes and types, for comparison only. */
  readonly codes: readonly string[];
  /** The HTTP status that the error contains or that its type implies. */
  readonly status: number | undefined;
  /** The HTTP status that the error contains. */
  readonly statedStatus: number | undefined;
  /** How long to wait, if the text contains a time. */
  readonly retryAfterMs: number | undefined;
}

const STATUS_OF_TYPE: Readonly<Record<string, number>> = {
  overloaded_error: 529,
  api_error: 500,
  server_error: 500,
  internal_server_error: 500,
  timeout_error: 504,
  rate_limit_error: 429,
  rate_limit_exceeded: 429,
  insufficient_quota: 429,
  billing_error: 402,
  authentication_error: 401,
  permission_error: 403,
  not_found_error: 404,
  request_too_large: 413,
  invalid_request_error: 400,
  invalid_prompt: 400,
};

/** Parses the body of an error response or the payload of an error event. */
export function parseVendorError(payload: unknown): VendorError {
  const fields = flatten(typeof payload === "string" ? parseOrText(payload) : payload);
  const codes = fields.codes.map(String);
  const numeric = codes.map(Number).find((code) => Number.isInteger(code) && code >= 400 && code < 600);
  const named = codes.map((code) => STATUS_OF_TYPE[code]).find((status) => status !== undefined);
  const wait = /(?:retry|try again) in (\d+(?:\.\d+)?) ?(ms|s|seconds?)\b|"retryDelay": ?"(\d+(?:\.\d+)?)s"/i;
  const match = wait.exec(typeof payload === "string" ? payload : fields.text);
  const seconds = Number(match?.[1] ?? match?.[3]) * (match?.[2] === "ms" ? 0.001 : 1);
  return {
    text: oneLine(fields.text),
    codes,
    status: numeric ?? named,
    statedStatus: numeric,
    retryAfterMs: match === null ? undefined : Math.ceil(seconds * 1000),
  };
}

/** Whether a body describes an error, although its status means success. */
export function isErrorBody(body: string): boolean {
  const value = parseOrText(body);
  return typeof value === "object" && value !== null && ("error" in value || "detail" in value);
}

/** Whether a body is a web page, such as the page of a proxy, a login or a wrong address. */
export function isHtml(body: string, contentType: string): boolean {
  return contentType.startsWith("text/html") || /^\s*<(?:!doctype|html)\b/i.test(body);
}

function parseOrText(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch {
    return { message: body }; // some gateways answer in plain text
  }
}

function flatten(value: unknown): { text: string; codes: (string | number)[] } {
  if (Array.isArray(value)) return flatten(value[0]);
  if (typeof value === "string") return { text: value, codes: [] };
  if (typeof value !== "object" || value === null) return { text: "", codes: [] };
  const record = value as Readonly<Record<string, unknown>>;
  const inner = flatten(record["error"] ?? record["errors"] ?? record["detail"]);
  const said = [record["message"], record["msg"]].find((text) => typeof text === "string");
  const own = Array.isArray(record["loc"]) ? `${record["loc"].join(".")}: ${said}` : said; // FastAPI: vLLM, Mistral
  const codes = [record["code"], record["type"], record["status"]].filter(
    (code) => typeof code === "string" || typeof code === "number",
  );
  const upstream = flatten(rawOf(record["metadata"]));
  const texts = [inner.text || (typeof own === "string" ? own : ""), upstream.text].filter(
    (text) => text !== "",
  );
  return { text: texts.join(": "), codes: [...inner.codes, ...upstream.codes, ...codes] };
}

/** The error of the upstream provider; the router's own message is only "Provider returned error". */
function rawOf(metadata: unknown): unknown {
  if (typeof metadata !== "object" || metadata === null || !("raw" in metadata)) return undefined;
  return typeof metadata.raw === "string" ? parseOrText(metadata.raw) : metadata.raw;
}

function oneLine(text: string): string {
  // The text is printed to a terminal, so it must not contain escape sequences.
  const line = text.replace(/[\p{Cc}\p{Cf}\s]+/gu, " ").trim();
  return shorten(line, LONGEST_QUOTE);
}
