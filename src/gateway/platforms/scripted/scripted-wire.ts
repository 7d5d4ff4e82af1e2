import type {
  ActResult,
  ChatAction,
  InboundAttachment,
  InboundMessage,
  OutboundPart,
  PlatformFailureCode,
  SendResult,
} from "../../platform.ts";

/** A message on the wire: the content of its files is text in base64. */
export type WireMessage = Omit<InboundMessage, "attachments"> & {
  readonly attachments?: readonly WireAttachment[] | undefined;
};
type WireAttachment = { readonly name: string; readonly mediaType: string } & (
  | { readonly base64: string }
  | { readonly problem: string }
);

/** What the gateway sends, one JSON value per line. */
export type ScriptedRequest =
  | { readonly type: "hello"; readonly account: string; readonly cursor: string | undefined }
  | { readonly type: "ack"; readonly seq: number }
  | { readonly type: "ping" }
  | { readonly type: "send" | "find"; readonly ref: number; readonly part: OutboundPart }
  | { readonly type: "act"; readonly ref: number; readonly action: ChatAction };

/** What the service sends. A message is sent again on each connection until it is acknowledged. */
export type ScriptedReply =
  | { readonly type: "welcome" }
  | { readonly type: "goodbye"; readonly code: PlatformFailureCode; readonly message: string }
  | { readonly type: "message"; readonly seq: number; readonly message: WireMessage }
  | { readonly type: "pong" }
  | { readonly type: "result"; readonly ref: number; readonly result: SendResult & ActResult };

export function fromWire({ attachments, ...message }: WireMessage): InboundMessage {
  return attachments === undefined ? message : { ...message, attachments: attachments.map(readAttachment) };
}

function readAttachment(one: WireAttachment): InboundAttachment {
  const { name, mediaType } = one;
  return "base64" in one
    ? { name, mediaType, content: Buffer.from(one.base64, "base64") }
    : { name, mediaType, problem: one.problem };
}
