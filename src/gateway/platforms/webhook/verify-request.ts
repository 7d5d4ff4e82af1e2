import { createHash, createHmac, timingSafeEqual } from "node:crypto";
import type { WebhookRoute } from "./options.ts";

/** A request as the verifiers see it: the body byte by byte as it arrived. */
export interface SignedRequest {
  header(name: string): string | undefined;
  readonly body: Uint8Array;
}

/**
 * The id of a genuine request; undefined for others. Where there is a signature, the id is made from the signed data: a request that
 * is replayed with other headers keeps its id, and the inbox ignores it.
 */
type Verifier = (request: SignedRequest, secret: string, nowMs: number) => string | undefined;

const MAX_CLOCK_SKEW_MS = 300_000;

export const VERIFIERS: Readonly<Record<Exclude<WebhookRoute["verify"], "none">, Verifier>> = {
  github({ header, body }, secret) {
    const expected = `sha256=${hmac(secret, [body]).toString("hex")}`;
    return isSame(header("x-hub-signature-256"), expected) ? hashOf(body) : undefined;
  },
  gitlab({ header, body }, secret) {
    if (!isSame(header("x-gitlab-token"), secret)) return undefined;
    return header("idempotency-key") ?? header("x-gitlab-event-uuid") ?? hashOf(body);
  },
  standard({ header, body }, secret, nowMs) {
    const id = header("webhook-id") ?? "";
    const time = header("webhook-timestamp") ?? "";
    if (id === "" || !isRecent(time, nowMs)) return undefined;
    const expected = signStandard(secret, { id, time, body });
    const given = (header("webhook-signature") ?? "").split(" ");
    return given.some((one) => isSame(one, expected)) ? id : undefined;
  },
  generic({ header, body }, secret, nowMs) {
    const time = header("x-webhook-timestamp") ?? "";
    if (!isRecent(time, nowMs)) return undefined;
    const expected = hmac(secret, [`${time}.`, body]).toString("hex");
    return isSame(header("x-webhook-signature-v2"), expected) ? expected : undefined;
  },
};

/** A signature as in Standard Webhooks; the secret may be written as `whsec_` and base64. */
export function signStandard(
  secret: string,
  { id, time, body }: { readonly id: string; readonly time: string; readonly body: string | Uint8Array },
): string {
  const key = secret.startsWith("whsec_") ? Buffer.from(secret.slice("whsec_".length), "base64") : secret;
  return `v1,${hmac(key, [`${id}.${time}.`, body]).toString("base64")}`;
}

function hmac(key: string | Uint8Array, parts: readonly (string | Uint8Array)[]): Buffer {
  const hash = createHmac("sha256", key);
  for (const part of parts) hash.update(part);
  return hash.digest();
}

function hashOf(body: Uint8Array): string {
  return createHash("sha256").update(body).digest("hex");
}

/** Compares in constant time; hashes first, because the lengths may differ. */
function isSame(given: string | undefined, expected: string): boolean {
  const digest = (text: string): Buffer => createHash("sha256").update(text).digest();
  return given !== undefined && timingSafeEqual(digest(given), digest(expected));
}

/** Whether a time in seconds since 1970 is at most five minutes away. */
function isRecent(time: string, nowMs: number): boolean {
  return /^\d{1,12}$/.test(time) && Math.abs(Number(time) * 1_000 - nowMs) <= MAX_CLOCK_SKEW_MS;
}
