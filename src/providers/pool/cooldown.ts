import type { ModelFailure } from "../provider.ts";

const LONGEST_COOLDOWN_OF_REFUSED_KEY_MS = 5 * 60_000;
const LONGEST_COOLDOWN_OF_SOLE_KEY_MS = 5 * 60_000;
const PAYMENT_REQUIRED_FACTOR = 24; // status 402 means unpaid: skip the key 24 times as long

export interface CooldownOptions {
  /** Whether the provider has no other key. */
  readonly isSole: boolean;
  /** The cooldown of a key that reached a limit, if the server states none. */
  readonly limitMs: number;
}

/**
 * How long a key is skipped after a failure; undefined if the failure is not about the key. A time that the server states is
 * used unchanged. Otherwise, the only key of a provider is skipped for minutes at most, because there is no other one.
 */
export function findCooldown(
  { kind, status, retryAfterMs }: Pick<ModelFailure, "kind" | "status" | "retryAfterMs">,
  { isSole, limitMs }: CooldownOptions,
): number | undefined {
  const defaultMs = defaultCooldown(kind, status, limitMs);
  if (retryAfterMs !== undefined && (defaultMs !== undefined || kind === "unavailable")) return retryAfterMs;
  return defaultMs === undefined || !isSole
    ? defaultMs
    : Math.min(defaultMs, LONGEST_COOLDOWN_OF_SOLE_KEY_MS);
}

/** The cooldown if the server states none. */
function defaultCooldown(
  kind: ModelFailure["kind"],
  status: number | undefined,
  limitMs: number,
): number | undefined {
  if (kind === "rate-limited") return limitMs;
  if (kind === "quota") return status === 402 ? PAYMENT_REQUIRED_FACTOR * limitMs : limitMs;
  // A key that lacks access to a model (403) will be refused again; a wrong one (401) may soon be replaced.
  if (kind === "auth")
    return status === 403 ? limitMs : Math.min(limitMs, LONGEST_COOLDOWN_OF_REFUSED_KEY_MS);
  return undefined;
}
