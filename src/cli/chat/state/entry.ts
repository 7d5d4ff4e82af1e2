import type { Approval } from "../../../approvals/approval.ts";

/** Something that the chat prints once. A printer turns it into lines. */
export type Entry =
  | { readonly kind: "greeting"; readonly parts: readonly string[] }
  | {
      readonly kind: "user";
      readonly text: string;
      readonly how: "sent" | "steer";
      /** Lines that the references of the message have added to it. */
      readonly addedLines?: number;
    }
  /** A piece of the answer, as the model streams it. */
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "text-end" }
  /** A piece of the model's reasoning, before its answer. */
  | { readonly kind: "reasoning"; readonly text: string }
  | { readonly kind: "call"; readonly call: EndedCall }
  | {
      readonly kind: "question";
      readonly approval: Approval;
      readonly number: number;
      /** Where the call would run. */
      readonly environment: string;
    }
  | { readonly kind: "answered"; readonly text: string }
  | { readonly kind: "notice"; readonly text: string }
  | { readonly kind: "error"; readonly text: string; readonly hint: string | undefined }
  /** Lines that a command of the chat prints. */
  | { readonly kind: "lines"; readonly lines: readonly string[] }
  /** A slash command, as it was typed. */
  | { readonly kind: "command"; readonly text: string }
  | { readonly kind: "command-end" }
  | { readonly kind: "turn-end" };

export interface EndedCall {
  readonly callId: string;
  readonly number: number;
  readonly tool: string;
  readonly argument: string;
  readonly outcome: "ok" | "failed" | "stopped" | "unknown" | "not-run";
  readonly durationMs: number;
  /** The part of the result that the user sees. */
  readonly body: string;
  /** A few words about the end: the exit code, the size of a change, or the reason why the call was not run. */
  readonly summary: string;
}
