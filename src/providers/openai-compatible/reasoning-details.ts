import type { VendorData } from "../message.ts";
import type { VendorMetadata } from "../wire/answer-part.ts";
import { findString, isJsonObject, type JsonObject } from "../wire/json-object.ts";

/** Where reasoning came from. */
export interface ReasoningSource {
  readonly provider: string;
  /** The model's name. */
  readonly name: string;
}

/** The fields of a detail that arrive in pieces. */
const PIECES = ["text", "summary", "data"] as const;

/**
 * Collects `reasoning_details`: signed, summarized or encrypted reasoning that routers expect back for the model.
 * The pieces of one detail have the same index and type.
 */
export function createDetailCollector({ provider, name }: ReasoningSource) {
  const details: Record<string, unknown>[] = [];
  return {
    /** Adds the details of an event; returns all details so far, as vendor data. */
    take(pieces: unknown): VendorMetadata {
      const given = Array.isArray(pieces) ? pieces.filter(isJsonObject) : [];
      if (given.length === 0) return undefined;
      for (const piece of given) {
        const last = details.at(-1);
        if (last === undefined || !continues(last, piece)) details.push({ ...piece });
        else merge(last, piece);
      }
      return { reasoningDetails: { provider, model: name, details } };
    },
  };
}

function continues(last: JsonObject, piece: JsonObject): boolean {
  const isSame = (field: string) => piece[field] === undefined || last[field] === piece[field];
  return last["type"] === piece["type"] && isSame("index") && (isSame("id") || piece["id"] === null);
}

function merge(last: Record<string, unknown>, piece: JsonObject): void {
  const before = { ...last };
  Object.assign(last, Object.fromEntries(Object.entries(piece).filter(([, value]) => value !== null)));
  for (const field of PIECES) {
    const [start, end] = [findString(before, field), findString(piece, field)];
    if (start !== undefined && end !== undefined) last[field] = start + end;
  }
}

/** The details of a part, if they came from the model of this request; any other model could not verify them. */
export function findReasoningDetails(
  vendor: VendorData | undefined,
  target: { readonly provider: string; readonly model: string },
): unknown {
  const stored = vendor?.["reasoningDetails"];
  if (!isJsonObject(stored)) return undefined;
  return stored["provider"] === target.provider && stored["model"] === target.model
    ? stored["details"]
    : undefined;
}
