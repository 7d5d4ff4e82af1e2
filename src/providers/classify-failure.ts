import { AppError, errnoOf, messageOf } from "../lib/errors.ts";
import { formatTime, spanWords } from "../lib/format-time.ts";
import { isProxyRefusal, PROXY_CREDENTIALS_HINT } from "../lib/http-failure.ts";
import { BAD_KEY, NO_MODEL, QUOTA, QUOTA_OR_RATE, saysAny, TOO_LONG } from "./failure-wordings.ts";
import type { FailureKind, ModelFailure, ReasoningEffort } from "./provider.ts";
import { isErrorBody, isHtml, readVendorError, type VendorError } from "./vendor-error.ts";

/** What went wrong with a request, as far as the wire tells. */
export type Trouble =
  | { readonly type: "aborted" }
  /** `silent`: nothing came all that time; otherwise the whole request took too long. */
  | { readonly type: "stalled"; readonly waitedMs: number; readonly silent: boolean }
  /** The answer ended, or its connection, before it was whole. */
  | { readonly type: "cut" }
  | { readonly type: "empty" }
  /** The provider asked to be asked again, and again. */
  | { readonly type: "paused"; readonly times: number }
  /** An event that the format does not allow. */
  | { readonly type: "malformed" }
  /** A compression that nobody here can undo. */
  | { readonly type: "undecodable"; readonly encoding: string }
  /** A complete HTTP answer that is not the stream that was asked for. */
  | HttpTrouble
  /** An error event inside the stream. */
  | { readonly type: "error-event"; readonly payload: unknown }
  /** Anything else that was thrown; `answering`: the headers of the answer had come. */
  | { readonly type: "thrown"; readonly error: unknown; readonly answering: boolean };

export interface HttpTrouble {
  readonly type: "http";
  readonly status: number;
  readonly body: string;
  readonly contentType: string;
  readonly retryAfter: string | undefined;
}

export interface FailureContext {
  /** As the settings name the provider. */
  readonly provider: string;
  readonly model: string;
  /** The setting that holds the server's address. */
  readonly addressKey: string;
  /** How to set a key, where none was sent. */
  readonly keyAdvice: string | undefined;
  /** What was asked for by `--reasoning` or in the settings. */
  readonly reasoningEffort: ReasoningEffort | undefined;
  readonly nowMs: number;
  /** Takes secrets out of what a vendor wrote. */
  redact(text: string): string;
}

export type ClassifiedFailure = Pick<ModelFailure, "kind" | "message" | "hint" | "status" | "retryAfterMs">;

/** Names a failure of a request in our terms: its kind decides what happens next, its words are for a person. */
export function classifyFailure(trouble: Trouble, context: FailureContext): ClassifiedFailure {
  switch (trouble.type) {
    case "aborted":
      return failure("aborted", context, "The request was stopped.");
    case "stalled": {
      const seconds = Math.round(trouble.waitedMs / 1000);
      const what = trouble.silent ? "sent nothing for" : "did not finish its answer in";
      return failure("stalled", context, `${context.provider} ${what} ${seconds} s.`);
    }
    case "cut":
      return failure("cut", context, `${context.provider} ended its answer before it was whole.`);
    case "empty":
      return failure("empty", context, `${context.provider} gave an empty answer.`);
    case "paused": {
      const message = `${context.provider} paused its answer ${trouble.times} times and did not end it.`;
      return { ...failure("refused", context, message), hint: PAUSE_HINT };
    }
    case "malformed":
      return failure(
        "malformed",
        context,
        `${context.provider} sent something that its format does not allow.`,
      );
    case "undecodable": {
      const { encoding } = trouble;
      const message = `${context.provider} compressed its answer (${encoding}) in a way that this version of Node cannot undo.`;
      return { ...failure("refused", context, message), hint: DECODER_HINT };
    }
    case "http":
      return classifyAnswer(trouble, context);
    case "error-event": {
      const vendor = readVendorError(trouble.payload);
      return classifyVendorError(vendor, vendor.status ?? 500, vendor.retryAfterMs, context);
    }
    case "thrown":
      return classifyThrown(trouble.error, trouble.answering, context);
  }
}

function classifyAnswer(answer: HttpTrouble, context: FailureContext): ClassifiedFailure {
  const { status, body, contentType } = answer;
  const html = isHtml(body, contentType);
  if (status < 300) {
    const vendor = readVendorError(html ? "" : body);
    if (!html && (vendor.status !== undefined || isErrorBody(body)))
      return classifyVendorError(vendor, vendor.status ?? 500, vendor.retryAfterMs, context);
    const what = html ? "an HTML page" : "something that is not a stream";
    return failure("malformed", context, `${context.provider} answered with ${what}.`, { status });
  }
  if (status < 400) {
    const message = `${context.provider} answered with a redirect (${status}), which is not followed with a key.`;
    return failure("not-found", context, message, { status });
  }
  // Not the provider's own word, and not about its key.
  if (status === 407) {
    const message = `A proxy on the way to ${context.provider} wants a user name and password (407).`;
    return { ...failure("refused", context, message, { status }), hint: PROXY_CREDENTIALS_HINT };
  }
  const vendor = readVendorError(html ? { message: "an HTML page" } : body);
  const retryAfterMs = parseRetryAfter(answer.retryAfter, context.nowMs) ?? vendor.retryAfterMs;
  return classifyVendorError(vendor, status, retryAfterMs, context);
}

function classifyVendorError(
  vendor: VendorError,
  status: number,
  retryAfterMs: number | undefined,
  context: FailureContext,
): ClassifiedFailure {
  const kind = kindOf(status, `${vendor.codes.join(" ")} ${vendor.text}`, retryAfterMs);
  const text = context.redact(vendor.text);
  const said = text === "" ? "." : `: ${text}`;
  const { keyAdvice, reasoningEffort } = context;
  const isKeyless = kind === "auth" && keyAdvice !== undefined;
  const says = isKeyless ? "did not accept the request, which had no key" : (SAYS[kind] ?? "failed");
  const failed = failure(kind, context, `${context.provider} ${says} (${status})${said}`, {
    status,
    retryAfterMs,
  });
  if (isKeyless) return { ...failed, hint: keyAdvice };
  if (kind === "refused" && reasoningEffort !== undefined && ABOUT_REASONING.test(text))
    return { ...failed, hint: reasoningHint(reasoningEffort) };
  const isLongWait = retryAfterMs !== undefined && retryAfterMs >= 60_000;
  if (isLongWait && (kind === "rate-limited" || kind === "unavailable" || kind === "quota"))
    return { ...failed, hint: waitHint(context.nowMs, retryAfterMs) };
  return failed;
}

function kindOf(status: number, text: string, retryAfterMs: number | undefined): FailureKind {
  if ([400, 413, 422, 500].includes(status) && saysAny(text, TOO_LONG)) return "too-long";
  if (status === 402) return "quota";
  if (status === 429) {
    const ordinary =
      QUOTA_OR_RATE.test(text) && retryAfterMs !== undefined && !/insufficient_quota/.test(text);
    return !ordinary && saysAny(text, QUOTA) ? "quota" : "rate-limited";
  }
  if (status === 401) return "auth";
  if (status === 403) return saysAny(text, QUOTA) ? "quota" : "auth";
  if (status === 404 || status === 405 || status === 410) return "not-found";
  if (status === 413) return "too-long";
  if (status === 408 || status === 409 || status === 425 || status >= 500) return "unavailable";
  if (BAD_KEY.test(text)) return "auth";
  if (NO_MODEL.test(text)) return "not-found";
  return saysAny(text, QUOTA) ? "quota" : "refused";
}

const SAYS: Partial<Record<FailureKind, string>> = {
  "too-long": "says that the conversation does not fit into the model's window",
  quota: "says that the plan or the credit is used up",
  "rate-limited": "asks for fewer requests",
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
  // The error at hand quotes the header.
  if (/invalid header|header value/i.test(messageOf(error))) {
    const message = `A header for ${context.provider} holds characters that HTTP does not allow.`;
    return {
      ...failure("refused", context, message),
      hint: "Look for a line break in the key and in headers.",
    };
  }
  // Neither HTTP nor what its header says about its compression.
  const isNotHttp = root instanceof Error && root.name === "HTTPParserError";
  if (isNotHttp || /^(?:Z_|ZSTD_|ERR_?_?(?:ZLIB|BROTLI|PADDING_|TRAILING_JUNK))/.test(code))
    return classifyFailure({ type: "malformed" }, context);
  if (answering && (code !== "" || /^(?:terminated|aborted)$/.test(messageOf(error))))
    return failure("cut", context, `The connection to ${context.provider} broke in the middle of an answer.`);
  if (error instanceof AppError && error.cause !== undefined) {
    const { message } = error;
    if (isProxyRefusal(root))
      return { ...failure("refused", context, `${context.provider}: ${message}`), hint: error.hint };
    // A certificate is no better at the next try.
    const kind = /CERT|SELF_SIGNED|UNABLE_TO_VERIFY/.test(code) ? "refused" : "unreachable";
    const hint = `${error.hint} The address is set by ${context.addressKey}.`;
    return { ...failure(kind, context, `${context.provider}: ${message}`), hint };
  }
  if (code !== "") {
    const message = `Cannot reach ${context.provider}: ${context.redact(messageOf(root))}`;
    return failure("unreachable", context, message);
  }
  const hint = error instanceof AppError ? error.hint : undefined;
  const message = `The request to ${context.provider} could not be made: ${context.redact(messageOf(error))}`;
  const refused = failure("refused", context, message);
  return hint === undefined ? refused : { ...refused, hint };
}

function failure(
  kind: FailureKind,
  context: FailureContext,
  message: string,
  facts: { status?: number | undefined; retryAfterMs?: number | undefined } = {},
): ClassifiedFailure {
  const { status, retryAfterMs } = facts;
  return { kind, message, hint: HINTS[kind](context), status, retryAfterMs };
}

const DECODER_HINT = "Switch compression off in the gateway, or run Hermes with Node 22.15 or newer.";
const PAUSE_HINT = "Ask for less at once, or choose another model with -m.";
const ABOUT_REASONING = /effort|thinking|reasoning|output_config/i;
const reasoningHint = (effort: ReasoningEffort) =>
  `This seems to be about the reasoning that was asked for (${effort}, by --reasoning or agent.reasoning_effort): leave it out, or choose another model with -m.`;
const waitHint = (nowMs: number, waitMs: number) =>
  `It can be asked again at ${formatTime(nowMs + waitMs)} (in ${spanWords(waitMs)}); until then, choose another model with -m.`;
const again = () => "Try again in a moment; if it goes on, ask another model.";
const HINTS: { readonly [Kind in FailureKind]: (context: FailureContext) => string } = {
  aborted: () => "Send a message to go on.",
  unreachable: ({ addressKey }) =>
    `Check the network, the address (${addressKey}), HTTPS_PROXY and NO_PROXY.`,
  stalled: ({ provider }) => `Try again, or raise providers.${provider}.stale_timeout_seconds.`,
  cut: again,
  unavailable: again,
  "rate-limited": () => "Wait a little, or choose another model with -m.",
  quota: ({ provider }) => `Look at your plan and billing at ${provider}, or choose another provider.`,
  auth: ({ provider }) =>
    `Check the key for ${provider}: is it complete, still valid, and allowed this model?`,
  "not-found": ({ model, addressKey }) =>
    `Check the name of the model (${model}) and the address (${addressKey}).`,
  "too-long": () =>
    "Start a new session, or go on with a model that has a larger window: hermes -c -m MODEL. Nothing is lost.",
  refused: () => "Check the settings of the model; the provider's own words are above.",
  malformed: ({ addressKey }) =>
    `Check that the address (${addressKey}) is an API and that no proxy answers for it.`,
  empty: again,
};

/** The header Retry-After in either of its forms: seconds, or a date. */
function parseRetryAfter(value: string | undefined, nowMs: number): number | undefined {
  if (value === undefined || value.trim() === "") return undefined;
  const seconds = Number(value);
  if (Number.isFinite(seconds)) return Math.max(0, Math.ceil(seconds * 1000));
  const date = Date.parse(value);
  return Number.isNaN(date) ? undefined : Math.max(0, date - nowMs);
}

function rootCause(error: unknown): unknown {
  return error instanceof Error && error.cause !== undefined ? rootCause(error.cause) : error;
}
