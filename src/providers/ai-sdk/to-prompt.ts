import { randomUUID } from "node:crypto";
import type {
  LanguageModelV3FunctionTool,
  LanguageModelV3Message,
  LanguageModelV3Prompt,
  SharedV3ProviderOptions,
} from "@ai-sdk/provider";
import { type AssistantMessage, type Message, NO_TEXT, type VendorData } from "../message.ts";
import type { ToolDefinition } from "../provider.ts";
import { replayableInput } from "../wire/json-object.ts";
import { sendableName } from "../wire/sendable.ts";

type AssistantContent = Extract<LanguageModelV3Message, { role: "assistant" }>["content"];

/** Converts a call id to characters that a format allows; the same for the call and its result. */
type WriteCallId = (id: string) => string;

export function toPrompt(messages: readonly Message[], writeCallId: WriteCallId): LanguageModelV3Prompt {
  return messages.map((message) => toSdkMessage(message, writeCallId));
}

function toSdkMessage(message: Message, writeCallId: WriteCallId): LanguageModelV3Message {
  switch (message.role) {
    case "system":
      return { role: "system", content: message.text };
    case "user": {
      const content = message.parts.map((part) =>
        part.type === "text"
          ? ({ type: "text", text: part.text } as const)
          : ({ type: "file", mediaType: part.mediaType, data: part.data } as const),
      );
      return { role: "user", content };
    }
    case "assistant": {
      const content = message.parts.flatMap((part) => toSdkPart(part, writeCallId) ?? []);
      // Vendors refuse an empty message, and the SDK omits reasoning without a signature.
      if (content.every(({ type }) => type === "reasoning")) content.push({ type: "text", text: NO_TEXT });
      return { role: "assistant", content };
    }
    case "tool": {
      const output = { type: message.failed ? "error-text" : "text", value: message.text } as const;
      const toolCallId = writeCallId(message.callId);
      const toolName = sendableName(message.tool);
      return { role: "tool", content: [{ type: "tool-result", toolCallId, toolName, output }] };
    }
  }
}

function toSdkPart(
  part: AssistantMessage["parts"][number],
  writeCallId: WriteCallId,
): AssistantContent[number] | undefined {
  switch (part.type) {
    case "text": {
      const block = blockOf(part.vendor);
      if (block !== undefined) return { type: "text", text: BLOCK_MARK + JSON.stringify(block) };
      if (part.text.trim() === "") return undefined; // vendors refuse empty text
      return { type: "text", text: part.text, ...vendorOptions(part.vendor) };
    }
    case "reasoning":
      return { type: "reasoning", text: part.text, ...vendorOptions(part.vendor) };
    case "tool-call":
      return {
        type: "tool-call",
        toolCallId: writeCallId(part.callId),
        toolName: sendableName(part.tool),
        input: replayableInput(part.input),
        ...vendorOptions(part.vendor),
      };
  }
}

/** Marks a block that the SDK has no type for; random, so that no text can imitate it. */
const BLOCK_MARK = `block ${randomUUID()} `;

function blockOf(vendor: VendorData | undefined): object | undefined {
  const known = vendor?.["anthropic"];
  const block = typeof known === "object" && known !== null && "block" in known ? known.block : undefined;
  return typeof block === "object" && block !== null ? block : undefined;
}

/** Replaces the marked texts in a body that the SDK wrote with the original vendor blocks. */
export function withVendorBlocks(body: string): string {
  if (!body.includes(BLOCK_MARK)) return body;
  return JSON.stringify(JSON.parse(body), (_, value: unknown) => {
    const text = typeof value === "object" && value !== null && "text" in value ? value.text : undefined;
    const isBlock = typeof text === "string" && text.startsWith(BLOCK_MARK);
    return isBlock ? (JSON.parse(text.slice(BLOCK_MARK.length)) as unknown) : value;
  });
}

function vendorOptions(vendor: VendorData | undefined): { providerOptions?: SharedV3ProviderOptions } {
  if (vendor === undefined || Object.keys(vendor).length === 0) return {};
  // The stored data is metadata that the SDK or our reader produced in this shape.
  return { providerOptions: vendor as SharedV3ProviderOptions };
}

export function toSdkTools(tools: readonly ToolDefinition[]): LanguageModelV3FunctionTool[] {
  return tools.map(({ name, description, inputSchema }) => ({
    type: "function",
    name,
    description,
    inputSchema: inputSchema as LanguageModelV3FunctionTool["inputSchema"],
  }));
}
