import type { AnswerScope } from "../policy/decision.ts";

/**
 * An approval ends as approved or denied, a clarification as answered. `withdrawn`: the turn that asked was stopped before
 * a person answered.
 */
export type ApprovalState = "waiting" | "approved" | "denied" | "answered" | "expired" | "withdrawn";

/** `approval`: may this call run? `clarification`: the model asks for information. */
export type ApprovalKind = "approval" | "clarification";

/** A question to a person. It is stored before it is shown, and survives the process that asked it. */
export interface NewApproval {
  readonly sessionId: string;
  readonly kind: ApprovalKind;
  readonly callId: string;
  readonly tool: string;
  /** Identifies the call by its tool and arguments, so that the same call after a crash is the same question. */
  readonly hash: string;
  /** What would happen: the command, or the tool and its path; the question of a clarification. */
  readonly summary: string;
  /** Why a person is asked. */
  readonly reason: string;
  /** The rule that caused the question. */
  readonly rule?: string | undefined;
  readonly details: ApprovalDetails;
  /** Milliseconds after which the question expires; undefined if it never does. */
  readonly timeoutMs?: number | undefined;
}

export interface ApprovalDetails {
  /** The full text, if the summary is shortened. */
  readonly whole?: string | undefined;
  /** The rule that an answer "for this session" adds, and its description. */
  readonly session?: { readonly rule: string; readonly words: string } | undefined;
  /** The rule that an answer "always" adds, and its description. */
  readonly always?: { readonly rule: string; readonly words: string } | undefined;
  /** The suggested answers to a clarification. */
  readonly choices?: readonly string[] | undefined;
  /** Whether the answer may name several choices. */
  readonly several?: boolean | undefined;
  /** The task of the board that waits for the answer. */
  readonly task?: { readonly board: string; readonly taskId: string } | undefined;
}

export interface Approval {
  readonly id: string;
  readonly sessionId: string;
  readonly kind: ApprovalKind;
  readonly callId: string;
  readonly tool: string;
  readonly hash: string;
  readonly summary: string;
  readonly reason: string;
  readonly rule: string | undefined;
  readonly details: ApprovalDetails;
  readonly state: ApprovalState;
  readonly scope: AnswerScope | undefined;
  /** The reason for a denial, or the answer to a clarification: one line per choice, or the person's own text. */
  readonly answer: string | undefined;
  readonly answeredBy: string | undefined;
  readonly askedAt: number;
  readonly endsAt: number | undefined;
  readonly answeredAt: number | undefined;
  /** The process that waits for the answer. */
  readonly holder: string | undefined;
}

export interface Answer {
  readonly verdict: "approved" | "denied" | "answered";
  readonly scope?: AnswerScope | undefined;
  readonly text?: string | undefined;
  readonly by: string;
}
