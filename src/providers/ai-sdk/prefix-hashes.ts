import { hash } from "node:crypto";

interface Body {
  readonly tools?: unknown;
  readonly system?: unknown;
  readonly messages?: readonly { readonly role: string; readonly content: unknown }[];
}

/**
 * What a prompt consists of, as hashes: tools, system prompt, then each message of the body that was sent. The list
 * of an earlier request is the start of a later one's as long as the conversation only grew.
 */
export function prefixHashes(bodyText: string): string[] {
  const { tools, system, messages = [] } = JSON.parse(bodyText) as Body;
  const hashes = [hashOf(withoutMarkers(tools ?? []))];
  if (system !== undefined) hashes.push(hashOf(withoutMarkers(system)));
  for (const { role, content, ...rest } of messages) {
    // A message that gathers neighbours (tool results and the prompt after them) grows: there each of its blocks
    // stands for itself, as it does in the provider's cache.
    if (Array.isArray(content)) hashes.push(...content.map((block) => hashOf([role, withoutMarker(block)])));
    else hashes.push(hashOf({ role, content: withoutMarkers(content), ...rest }));
  }
  return hashes;
}

/** Cache markers move on with each request and are no part of the prompt. */
function withoutMarkers(value: unknown): unknown {
  return Array.isArray(value) ? value.map(withoutMarker) : value;
}

function withoutMarker(block: unknown): unknown {
  if (typeof block !== "object" || block === null || !("cache_control" in block)) return block;
  const { cache_control: _, ...rest } = block;
  return rest;
}

/** 96 bits: nobody tries to collide with his own prompt, and the lists are stored with each request. */
export function hashOf(value: unknown): string {
  return hash("sha256", JSON.stringify(value), "base64url").slice(0, 16);
}
