/** What a vendor wants to see again with a part, unchanged (signatures, item ids). Nobody but its provider reads it. */
export type VendorData = Readonly<Record<string, unknown>>;

export interface TextPart {
  readonly type: "text";
  readonly text: string;
  readonly vendor?: VendorData | undefined;
}

export interface ImagePart {
  readonly type: "image";
  readonly mediaType: string;
  /** Base64. */
  readonly data: string;
}

export interface ReasoningPart {
  readonly type: "reasoning";
  readonly text: string;
  readonly vendor?: VendorData | undefined;
}

export interface ToolCallPart {
  readonly type: "tool-call";
  /** Unique within its session. */
  readonly callId: string;
  readonly tool: string;
  /** JSON as the model wrote it, which need not be valid. */
  readonly input: string;
  readonly vendor?: VendorData | undefined;
}

export interface SystemMessage {
  readonly role: "system";
  readonly text: string;
}

export interface UserMessage {
  readonly role: "user";
  readonly parts: readonly (TextPart | ImagePart)[];
  /** A note that a person gave while tools ran; it follows their results and is never merged with a later prompt. */
  readonly kind?: "steer" | undefined;
}

export interface AssistantMessage {
  readonly role: "assistant";
  readonly parts: readonly (TextPart | ReasoningPart | ToolCallPart)[];
}

/** The one result of one tool call. */
export interface ToolMessage {
  readonly role: "tool";
  readonly callId: string;
  readonly tool: string;
  readonly text: string;
  readonly failed: boolean;
}

/** What a conversation consists of. User and assistant alternate; only tool messages may repeat. */
export type Message = SystemMessage | UserMessage | AssistantMessage | ToolMessage;

/** Stands for an answer of which nothing can be sent: left out, two messages of a person would follow each other. */
export const NO_TEXT = "[No text.]";

/** The calls that an assistant message asks for, in order. */
export function toolCallsOf(message: AssistantMessage): ToolCallPart[] {
  return message.parts.filter((part) => part.type === "tool-call");
}

/** What an assistant message says aloud. */
export function textOf(message: AssistantMessage | UserMessage): string {
  return message.parts.map((part) => (part.type === "text" ? part.text : "")).join("");
}
