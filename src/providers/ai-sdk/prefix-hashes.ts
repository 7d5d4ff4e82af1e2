import { hash } from "node:crypto";

interface Body {
  readonly tools?: unknown;
  readonly system?: unknown;
  readonly messages?: readonly { readonly role: string; readonly content: unknown }[];
}

/**
 * Hashes a prompt: the tools, the system prompt, then each message of the sent body. As long as the conversation only grows, the
 * hashes of an earlier request are the first ones of every later request.
 */
export function prefixHashes(bodyText: string): string[] {
  const { tools, system, messages = [] } = JSON.parse(bodyText) as Body;
  const hashes = [hashOf(withoutMarkers(tools ?? []))];
  if (system !== undefined) hashes.push(hashOf(withoutMarkers(system)));
  for (const { role, content, ...rest } of messages) {
    // A message that merges neighbours (tool results and the prompt after them) can grow, so each of its blocks gets
    // its own hash, as in the provider's cache.
    if (Array.isArray(content)) hashes.push(...content.map((block) => hashOf([role, withoutMarker(block)])));
    else hashes.push(hashOf({ role, content: withoutMarkers(content), ...rest }));
  }
  return hashes;
}

/** Removes cache markers, which move with each request and are not part of the prompt. */
function withoutMarkers(value: unknown): unknown {
  return Array.isArray(value) ? value.map(withoutMarker) : value;
}

function withoutMarker(block: unknown): unknown {
  if (typeof block !== "object" || block === null || !("cache_control" in block)) return block;
  const { cache_control: _, ...rest } = block;
  return rest;
}

/** 96 bits are enough, because prompts are not adversarial, and short because each request stores its list. */
export function hashOf(value: unknown): string {
  return hash("sha256", JSON.stringify(value), "base64url").slice(0, 16);
}
