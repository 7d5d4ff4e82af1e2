import type { VendorData } from "../message.ts";
import type { FinishReason, Usage } from "../provider.ts";

/** Data that a vendor sends along with a part, by vendor name. */
export type VendorMetadata = Readonly<Record<string, VendorData>> | undefined;

/** A piece of an answer, independent of the wire format. */
export type AnswerPart =
  | {
      readonly type: "text-start" | "reasoning-start";
      readonly id: string;
      readonly providerMetadata?: VendorMetadata;
    }
  | {
      readonly type: "text-delta" | "reasoning-delta";
      readonly id: string;
      readonly delta: string;
      readonly providerMetadata?: VendorMetadata;
    }
  /** All earlier text with this id was reasoning; later text starts a new part. */
  | { readonly type: "text-was-reasoning"; readonly id: string }
  | {
      readonly type: "tool-input-start";
      readonly id: string;
      readonly toolName: string;
      readonly providerMetadata?: VendorMetadata;
    }
  /** The part of the tool's name that is known so far. */
  | { readonly type: "tool-name"; readonly id: string; readonly toolName: string }
  | { readonly type: "tool-input-delta"; readonly id: string; readonly delta: string }
  /** A block that only its vendor understands, kept as vendor data. */
  | { readonly type: "vendor-block"; readonly providerMetadata: VendorMetadata }
  | FinishPart;

export interface FinishPart {
  readonly type: "finish";
  /** Whether reasoning does not count as an answer, so that an answer with nothing else is empty. */
  readonly reasoningIsNoAnswer?: boolean;
  /** `pause`: the provider continues the answer when it is sent back. `error`: the server reports that the answer is cut. */
  readonly reason: FinishReason | "pause" | "error";
  readonly usage: Usage;
}
