import { AppError, errnoOf, messageOf } from "../../lib/errors.ts";
import { isProxyRefusal, PROXY_CREDENTIALS_HINT, rootCause } from "../../lib/http/http-failure.ts";
import { formatDuration, formatTime } from "../../lib/time/format-time.ts";
import type { FailureKind, ModelFailure, ReasoningEffort } from "../provider.ts";
import { findStatedWindow } from "./stated-window.ts";
import { isErrorBody, isHtml, parseVendorError, type VendorError } from "./vendor-error.ts";

/** What went wrong with a request, as observed on the connection. */
export type RequestTrouble =
  | { readonly type: "aborted" }
  /** `silent`: the provider sent nothing for `waitedMs`; otherwise the whole request took too long. */
  | { readonly type: "stalled"; readonly waitedMs: number; readonly silent: boolean }
  /** The answer or its connection ended before the answer was complete. */
  | { readonly type: "cut" }
  | { readonly type: "empty" }
  | { readonly type: "paused"; readonly times: number }
  /** An event of the answer cannot be parsed. */
  | { readonly type: "malformed" }
  /** The answer has a content encoding that this version of Node cannot decode. */
  | { readonly type: "undecodable"; readonly encoding: string }
  /** A complete HTTP response that is not the requested stream. */
  | HttpTrouble
  | { readonly type: "error-event"; readonly payload: unknown }
  /** Any other thrown error; `answering`: it was thrown after the headers of the answer arrived. */
  | { readonly type: "thrown"; readonly error: unknown; readonly answering: boolean };

export interface HttpTrouble {
  readonly type: "http";
  readonly status: number;
  readonly body: string;
  readonly contentType: string;
  readonly retryAfter: string | undefined;
}

export interface FailureContext {
  /** The provider's name in the settings. */
  readonly provider: string;
  readonly model: string;
  /** The setting that contains the server's address. */
  readonly addressKey: string;
  /** How to set a key, if none was sent. */
  readonly keyHint: string | undefined;
  /** The effort requested by `--reasoning` or by the settings. */
  readonly reasoningEffort: ReasoningEffort | undefined;
  readonly nowMs: number;
  redact(text: string): string;
}

export type ClassifiedFailure = Pick<
  ModelFailure,
  "kind" | "message" | "hint" | "status" | "retryAfterMs" | "windowTokens"
>;

/** Converts trouble to a failure, whose kind decides about retries and whose message and hint are for the user. */
export function classifyFailure(trouble: RequestTrouble, context: FailureContext): ClassifiedFailure {
  switch (trouble.type) {
    case "aborted":
      return failure("aborted", context, "The request was stopped.");
    case "stalled": {
      const seconds = Math.round(trouble.waitedMs / 1000);
      const what = trouble.silent ? "sent nothing for" : "did not finish its answer in";
      return failure("stalled", context, `${context.provider} ${what} ${seconds} s.`);
    }
    case "cut":
      return failure("cut", context, `${context.provider} ended its answer early.`);
    case "empty":
      return failure("empty", context, `${context.provider} gave an empty answer.`);
    case "paused": {
      const message = `${context.provider} paused its answer ${trouble.times} times and did not end it.`;
      return failure("refused", context, message, { hint: PAUSE_HINT });
    }
    case "malformed":
      return failure("malformed", context, `${context.provider} sent a response that could not be parsed.`);
    case "undecodable": {
      const { encoding } = trouble;
      const message = `${context.provider} compressed its answer with ${encoding}, which this version of Node cannot decode.`;
      return failure("refused", context, message, { hint: DECODER_HINT });
    }
    case "http":
      return classifyHttpResponse(trouble, context);
    case "error-event": {
      return classifyWithoutStatus(parseVendorError(trouble.payload), context);
    }
    case "thrown":
      return classifyThrown(trouble.error, trouble.answering, context);
  }
}

function classifyHttpResponse(response: HttpTrouble, context: FailureContext): ClassifiedFailure {
  const { status, body, contentType } = response;
  const html = isHtml(body, contentType);
  if (status < 300) {
    const vendor = parseVendorError(html ? "" : body);
    if (!html && (vendor.status !== undefined || isErrorBody(body)))
      return classifyWithoutStatus(vendor, context);
    const what = html ? "an HTML page" : "something that is not a stream";
    return failure("malformed", context, `${context.provider} answered with ${what}.`, { status });
  }
  if (status < 400) {
    const message = `${context.provider} answered with a redirect (${status}), which is not followed, to protect the key.`;
    return failure("not-found", context, message, { status });
  }
  // 407 comes from a proxy, not from the provider, and is not about the provider's key.
  if (status === 407) {
    const message = `A proxy on the way to ${context.provider} requires a user name and password (407).`;
    return failure("refused", context, message, { status, hint: PROXY_CREDENTIALS_HINT });
  }
  const vendor = parseVendorError(html ? { message: "an HTML page" } : body);
  const retryAfterMs = parseRetryAfter(response.retryAfter, context.nowMs) ?? vendor.retryAfterMs;
  return classifyVendorError(vendor, { status, stated: status }, retryAfterMs, context);
}

/** An error within an answer whose status was a success. A status is shown only if the error contains one. */
function classifyWithoutStatus(vendor: VendorError, context: FailureContext): ClassifiedFailure {
  const { status = 500, statedStatus: stated } = vendor;
  return classifyVendorError(vendor, { status, stated }, vendor.retryAfterMs, context);
}

function classifyVendorError(
  vendor: VendorError,
  { status, stated }: { readonly status: number; readonly stated: number | undefined },
  askedMs: number | undefined,
  context: FailureContext,
): ClassifiedFailure {
  const retryAfterMs = askedMs === undefined ? undefined : Math.min(askedMs, LONGEST_WAIT_MS);
  const kind = kindOf(status, `${vendor.codes.join(" ")} ${vendor.text}`, retryAfterMs);
  const text = context.redact(vendor.text);
  const quote = text === "" ? "." : `: ${text}`;
  const { keyHint, reasoningEffort } = context;
  const isKeyless = kind === "auth" && keyHint !== undefined;
  const phrase = isKeyless ? "did not accept the request, which had no key" : (PHRASES[kind] ?? "failed");
  const number = stated === undefined ? "" : ` (${stated})`;
  const message = `${context.provider} ${phrase}${number}${quote}`;
  const failed = failure(kind, context, message, { status, retryAfterMs });
  if (kind === "too-long") return { ...failed, windowTokens: findStatedWindow(vendor.text) };
  if (isKeyless) return { ...failed, hint: keyHint };
  if (kind === "refused" && reasoningEffort !== undefined && ABOUT_REASONING.test(text))
    return { ...failed, hint: reasoningHint(reasoningEffort) };
  if (kind === "refused" && text === "") return { ...failed, hint: UNEXPLAINED_HINT };
  const isLongWait = retryAfterMs !== undefined && retryAfterMs >= 60_000;
  if (isLongWait && (kind === "rate-limited" || kind === "unavailable" || kind === "quota"))
    return { ...failed, hint: waitHint(context.nowMs, retryAfterMs) };
  return failed;
}

function kindOf(status: number, text: string, retryAfterMs: number | undefined): FailureKind {
  if ([400, 413, 422, 500].includes(status) && matchesAny(text, TOO_LONG)) return "too-long";
  if (status === 402) return "quota";
  if (status === 429) {
    const isRateLimit =
      QUOTA_OR_RATE.test(text) && retryAfterMs !== undefined && !/insufficient_quota/.test(text);
    return !isRateLimit && matchesAny(text, QUOTA) ? "quota" : "rate-limited";
  }
  if (status === 401) return "auth";
  if (status === 403) return matchesAny(text, QUOTA) ? "quota" : "auth";
  if (status === 404 || status === 405 || status === 410) return "not-found";
  if (status === 413) return "too-long";
  if (status === 408 || status === 409 || status === 425 || status >= 500) return "unavailable";
  if (BAD_KEY.test(text)) return "auth";
  if (NO_MODEL.test(text)) return "not-found";
  return matchesAny(text, QUOTA) ? "quota" : "refused";
}

const PHRASES: Partial<Record<FailureKind, string>> = {
  "too-long": "reports that the conversation does not fit into the model's window",
  quota: "reports that the plan or the credit is used up",
  "rate-limited": "limits the rate of requests",
  auth: "did not accept the key",
  "not-found": "does not know the model or the address",
  unavailable: "is not available",
  refused: "refused the request",
};

function classifyThrown(error: unknown, answering: boolean, context: FailureContext): ClassifiedFailure {
  const root = rootCause(error);
  const code = root instanceof AppError ? "" : (errnoOf(root) ?? "");
  if (/^UND_ERR_(?:HEADERS|BODY)_TIMEOUT$/.test(code))
    return failure("stalled", context, `${context.provider} sent nothing for too long.`);
  // The message of this error contains the header, which may be a secret, so do not quote it.
  if (/invalid header|header value/i.test(messageOf(error))) {
    const message = `A header for ${context.provider} holds characters that HTTP does not allow.`;
    const hint = "Remove line breaks and non-ASCII characters from the key and the headers.";
    return failure("refused", context, message, { hint });
  }
  // The response is not HTTP, or not in the encoding that its header names.
  const isNotHttp = root instanceof Error && root.name === "HTTPParserError";
  if (isNotHttp || /^(?:Z_|ZSTD_|ERR_?_?(?:ZLIB|BROTLI|PADDING_|TRAILING_JUNK))/.test(code))
    return classifyFailure({ type: "malformed" }, context);
  if (answering && (code !== "" || /^(?:terminated|aborted)$/.test(messageOf(error))))
    return failure("cut", context, `The connection to ${context.provider} broke in the middle of an answer.`);
  if (error instanceof AppError && error.cause !== undefined) {
    const { message } = error;
    if (isProxyRefusal(root))
      return failure("refused", context, `${context.provider}: ${message}`, { hint: error.hint });
    // A retry does not help against an untrusted certificate, or a file with certificates that cannot be read.
    const isLasting = error.code === "file-unreadable" || /CERT|SELF_SIGNED|UNABLE_TO_VERIFY/.test(code);
    const kind = isLasting ? "refused" : "unreachable";
    const hint = `${error.hint} The address is set by ${context.addressKey}.`;
    return failure(kind, context, `${context.provider}: ${message}`, { hint });
  }
  if (code !== "") {
    const message = `Cannot reach ${context.provider}: ${context.redact(messageOf(root))}`;
    return failure("unreachable", context, message);
  }
  const message = `The request to ${context.provider} could not be made: ${context.redact(messageOf(error))}`;
  return failure("refused", context, message, error instanceof AppError ? { hint: error.hint } : {});
}

function failure(
  kind: FailureKind,
  context: FailureContext,
  message: string,
  facts: Partial<Pick<ModelFailure, "status" | "retryAfterMs" | "hint">> = {},
): ClassifiedFailure {
  const { status, retryAfterMs, hint = HINTS[kind](context) } = facts;
  return { kind, message, hint, status, retryAfterMs };
}

const LONGEST_WAIT_MS = 365 * 24 * 60 * 60 * 1_000; // a much longer wait is beyond the range of Date
const DECODER_HINT =
  "Turn off response compression at the provider's server or the proxy in front of it, or run Hermes with Node 22.15 or newer.";
const UNEXPLAINED_HINT =
  "The server gave no reason. Check the name of the model and its settings, or look into the log of the server.";
const PAUSE_HINT = "Ask for less at once, or choose another model (-m, in a chat /model).";
const ABOUT_REASONING = /effort|thinking|reasoning|output_config/i;
const reasoningHint = (effort: ReasoningEffort) =>
  `The reasoning effort may be the cause (${effort}, by --reasoning or agent.reasoning_effort): omit it, or choose another model (-m, in a chat /model).`;
const waitHint = (nowMs: number, waitMs: number) =>
  `Try again at ${formatTime(nowMs + waitMs)} (in ${formatDuration(waitMs)}), or choose another model (-m, in a chat /model).`;
const tryAgain = () =>
  "Try again in a moment; if the problem persists, choose another model (-m, in a chat /model).";
const HINTS: { readonly [Kind in FailureKind]: (context: FailureContext) => string } = {
  aborted: () => "Send a message to continue.",
  unreachable: ({ addressKey }) =>
    `Check the network, the address (${addressKey}), HTTPS_PROXY and NO_PROXY.`,
  stalled: ({ provider }) => `Try again, or raise providers.${provider}.stale_timeout_seconds.`,
  cut: tryAgain,
  unavailable: tryAgain,
  "rate-limited": () => "Wait a little, or choose another model (-m, in a chat /model).",
  quota: ({ provider }) => `Check your plan and billing at ${provider}, or choose another provider.`,
  auth: ({ provider }) =>
    `Check the key for ${provider}: is it complete, still valid, and allowed this model?`,
  "not-found": ({ model, addressKey }) =>
    `Check the name of the model (${model}) and the address (${addressKey}).`,
  "too-long": () =>
    "Compact the session with `hermes sessions compact`, or continue with a model that has a larger window: hermes -c -m MODEL. Nothing is lost.",
  refused: () => "Check the settings of the model; the provider's message is above.",
  malformed: ({ addressKey }) =>
    `Check that the address (${addressKey}) is an API and that no proxy answers for it.`,
  empty: tryAgain,
};

/** Parses the header Retry-After, which is a number of seconds or a date. */
function parseRetryAfter(value: string | undefined, nowMs: number): number | undefined {
  if (value === undefined || value.trim() === "") return undefined;
  const seconds = Number(value);
  const waitMs = Number.isFinite(seconds) ? Math.ceil(seconds * 1000) : Date.parse(value) - nowMs;
  return Number.isNaN(waitMs) ? undefined : Math.max(0, waitMs);
}

/** Codes and texts of errors for a conversation that exceeds the context window. */
const TOO_LONG = [
  /context_length_exceeded|model_context_window_exceeded|exceed_context_size/i,
  /maximum context length|maximum prompt length|maximum number of tokens/i,
  /prompt is too long|input is too long|input length (?:and|exceeds)/i,
  /exceeds? (?:the |this )?(?:\w+ )?(?:available |maximum |model's )?context (?:size|length|window)/i,
  /context window (?:exceeds|is exceeded)|exceeded model token limit/i,
  /greater than the context length|reduce the length of the messages/i,
  /context the overflows|context overflow|reached context length|context length of only/i, // LM Studio
  /`inputs` tokens \+ `max_new_tokens` must be|`inputs` must have less than/i, // TGI, and Together on it
  /longer than the model's (?:maximum )?context length|range of input length should be/i, // SGLang, Alibaba
  /prompt token count of \d+ exceeds|model_max_prompt_tokens_exceeded/i, // Copilot
  /prompt exceeds max length|\b1261\b|prompt 超长|tokens in request more than max tokens/i, // Z.ai
  /context window limit|too many (?:input )?tokens|too large for model with \d+ maximum context/i, // Cloudflare, Cohere, Mistral
];

/** Codes and texts of errors for a used-up plan or credit, where a retry after a short wait does not help. */
const QUOTA = [
  /insufficient_quota|billing_error|billing_hard_limit|payment required/i,
  /insufficient (?:balance|credits?|funds)|credit balance is too low|out of credits|no credits/i,
  /usage[ _]limit|spending limit|(?:daily|weekly|monthly) (?:\w+ )?(?:limit|quota)|per-day/i,
  /exceeded your current quota|quota (?:has been )?(?:exceeded|exhausted)|(?:current|your) plan|upgrade/i,
];

/** Some vendors also use this text for a limit per minute, together with the seconds to wait. */
const QUOTA_OR_RATE = /exceeded your current quota/i;

/** Codes and texts of errors for a wrong key that come with status 400. */
const BAD_KEY =
  /api key not valid|incorrect api key|invalid (?:api|x-api)[ -]key|invalid_api_key|API_KEY_INVALID/i;

/** Codes and texts of errors for an unknown model that come with status 400. */
const NO_MODEL =
  /model_not_found|not a valid model|model not exist|model .{0,80}(?:does not exist|not found)|unknown model/i;

function matchesAny(text: string, wordings: readonly RegExp[]): boolean {
  return wordings.some((wording) => wording.test(text));
}
