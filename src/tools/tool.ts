import { AppError, messageOf } from "../lib/errors.ts";
import type { Effects } from "../policy/decision.ts";

/** The result of a call. A failure is text that the model can act on, never an exception. */
export interface ToolResult {
  readonly failed: boolean;
  readonly text: string;
  /** Additional output for the user, such as a diff. */
  readonly display?: string | undefined;
  /** Whether the call's command goes on in the background although the turn was stopped. */
  readonly continues?: boolean | undefined;
}

/** The reason for an abort by a new message: a running command is moved to the background instead of being ended. */
export class TurnRedirected extends Error {
  override readonly name = "TurnRedirected";
}

export interface ToolCallContext {
  readonly callId: string;
  /** Aborted when the turn is stopped: the call must then end everything that it started, and return soon after. */
  readonly signal: AbortSignal;
  onProgress(text: string): void;
}

/** A function that the model can call; created per session, and may hold state of the session. */
export interface Tool {
  readonly name: string;
  /** The group of tools that it is enabled and disabled with. */
  readonly toolset: string;
  readonly description: string;
  /** JSON Schema of an object. */
  readonly inputSchema: Readonly<Record<string, unknown>>;
  /** Whether a call may have side effects, so that repeating a call may return another result. */
  readonly mutates: boolean;
  readonly exclusive?: boolean | undefined;
  /** What a call would do, for the decision before the call starts. Absent if nothing is known. */
  effectsOf?(input: string): Effects;
  /** Describes the state of a call whose Hermes process exited during the call; undefined if it is unknown. */
  lookUp?(callId: string, signal: AbortSignal): Promise<string | undefined>;
  /** Runs the checks of a call, without effects, so that V8 compiles their patterns before the first call. */
  warm?(): void;
  /** Takes the JSON text of the model. Always resolves; a rejection is a bug of the tool. */
  call(input: string, context: ToolCallContext): Promise<ToolResult>;
}

/** The result of a call that threw an error. */
export function resultOfError(error: unknown): ToolResult {
  const hint = error instanceof AppError && error.hint ? ` ${error.hint}` : "";
  return { failed: true, text: JSON.stringify({ error: `${messageOf(error)}${hint}` }) };
}
