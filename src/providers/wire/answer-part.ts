import type { VendorData } from "../message.ts";

/** What a vendor gives along with a part, under its name. */
export type VendorNotes = Readonly<Record<string, VendorData>> | undefined;

/** A piece of an answer, whatever format it came in. */
export type AnswerPart =
  | {
      readonly type: "text-start" | "reasoning-start";
      readonly id: string;
      readonly providerMetadata?: VendorNotes;
    }
  | {
      readonly type: "text-end" | "reasoning-end";
      readonly id: string;
      readonly providerMetadata?: VendorNotes;
    }
  | {
      readonly type: "text-delta" | "reasoning-delta";
      readonly id: string;
      readonly delta: string;
      readonly providerMetadata?: VendorNotes;
    }
  /** All of a text so far was reasoning; what follows is another text. */
  | { readonly type: "text-was-reasoning"; readonly id: string }
  | {
      readonly type: "tool-input-start";
      readonly id: string;
      readonly toolName: string;
      readonly providerMetadata?: VendorNotes;
    }
  /** The name as far as it is known now. */
  | { readonly type: "tool-name"; readonly id: string; readonly toolName: string }
  | { readonly type: "tool-input-delta"; readonly id: string; readonly delta: string }
  /** Something that only its vendor understands, kept in the vendor's data. */
  | { readonly type: "vendor-block"; readonly providerMetadata: VendorNotes }
  | FinishPart;

export interface FinishPart {
  readonly type: "finish";
  /** The reasoning in it is nothing that anybody could take for the answer. */
  readonly isUnanswered?: boolean;
  readonly finishReason: {
    readonly unified:
      | "stop"
      | "length"
      | "window"
      | "content-filter"
      | "tool-calls"
      | "pause"
      | "error"
      | "other";
  };
  readonly usage: {
    readonly inputTokens: {
      readonly total: number | undefined;
      readonly cacheRead: number | undefined;
      readonly cacheWrite: number | undefined;
    };
    readonly outputTokens: { readonly total: number | undefined; readonly reasoning: number | undefined };
  };
}
