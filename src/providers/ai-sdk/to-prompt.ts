import type {
  LanguageModelV3FunctionTool,
  LanguageModelV3Message,
  LanguageModelV3Prompt,
  SharedV3ProviderOptions,
} from "@ai-sdk/provider";
import type { AssistantMessage, Message, ToolCallPart, VendorData } from "../message.ts";
import type { ToolDefinition } from "../provider.ts";

type AssistantContent = Extract<LanguageModelV3Message, { role: "assistant" }>["content"];

export interface PromptRules {
  /** Whether the route wants to see earlier reasoning again. */
  readonly replayReasoning: boolean;
  /** The id of a call in the letters that the format allows; the same for the call and its result. */
  callId(id: string): string;
  /** More for the SDK about a call; beside what the vendor gave. */
  callOptions(call: ToolCallPart): VendorData;
}

/** Our conversation in the words of the SDK. */
export function toPrompt(messages: readonly Message[], rules: PromptRules): LanguageModelV3Prompt {
  return messages.flatMap((message) => toSdkMessage(message, rules) ?? []);
}

function toSdkMessage(message: Message, rules: PromptRules): LanguageModelV3Message | undefined {
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
      const content = message.parts.flatMap((part) => toSdkPart(part, rules) ?? []);
      return content.length === 0 ? undefined : { role: "assistant", content }; // vendors refuse an empty one
    }
    case "tool": {
      const output = { type: message.failed ? "error-text" : "text", value: message.text } as const;
      const toolCallId = rules.callId(message.callId);
      return { role: "tool", content: [{ type: "tool-result", toolCallId, toolName: message.tool, output }] };
    }
  }
}

function toSdkPart(
  part: AssistantMessage["parts"][number],
  rules: PromptRules,
): AssistantContent[number] | undefined {
  switch (part.type) {
    case "text":
      if (part.text.trim() === "") return undefined; // vendors refuse it
      return { type: "text", text: part.text, ...vendorOptions(part.vendor) };
    case "reasoning":
      if (!rules.replayReasoning) return undefined;
      return { type: "reasoning", text: part.text, ...vendorOptions(part.vendor) };
    case "tool-call":
      return {
        type: "tool-call",
        toolCallId: rules.callId(part.callId),
        toolName: part.tool,
        input: replayableInput(part.input),
        ...vendorOptions({ ...part.vendor, ...rules.callOptions(part) }),
      };
  }
}

/** The input of a call as an object, because servers refuse a history in which it is none. */
function replayableInput(input: string): object {
  return parseObject(input) ?? { unparsable_input: input };
}

/** The object that a text is the JSON of, or undefined. */
export function parseObject(text: string): object | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null && !Array.isArray(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

function vendorOptions(vendor: VendorData | undefined): { providerOptions?: SharedV3ProviderOptions } {
  if (vendor === undefined || Object.keys(vendor).length === 0) return {};
  // It was the SDK's own metadata before it went through our storage.
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
