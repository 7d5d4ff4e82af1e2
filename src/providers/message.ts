/** Data that a vendor expects back unchanged with a part (signatures, item ids). Only the part's provider reads it. */
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
  /** JSON as the model wrote it; it may be invalid. */
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
  /** `steer` marks a note that the user gave while tools ran; it follows their results, separate from later prompts. */
  readonly kind?: "steer" | undefined;
}

export interface AssistantMessage {
  readonly role: "assistant";
  readonly parts: readonly (TextPart | ReasoningPart | ToolCallPart)[];
}

export interface ToolMessage {
  readonly role: "tool";
  readonly callId: string;
  readonly tool: string;
  readonly text: string;
  readonly failed: boolean;
}

/** One message of a conversation. User and assistant messages alternate; only tool messages may repeat. */
export type Message = SystemMessage | UserMessage | AssistantMessage | ToolMessage;

/** Replaces an answer that has no sendable content; without it, two user messages would follow each other. */
export const NO_TEXT = "[No text.]";

/** The tool calls of an assistant message, in order. */
export function toolCallsOf(message: AssistantMessage): ToolCallPart[] {
  return message.parts.filter((part) => part.type === "tool-call");
}

/** The part of a message that a person typed, without what its references added. */
export function firstTextOf({ parts }: UserMessage): string {
  return parts.find((part) => part.type === "text")?.text ?? "";
}

/** The text of a message, without reasoning and calls. */
export function textOf(message: AssistantMessage | UserMessage): string {
  return message.parts.map((part) => (part.type === "text" ? part.text : "")).join("");
}
