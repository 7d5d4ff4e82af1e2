/** A message as chat completions write it; the other formats are converted to it. */
export interface WireMessage {
  readonly role: string;
  readonly content?: unknown;
  readonly tool_calls?: readonly { readonly id: string }[];
  readonly tool_call_id?: string;
  readonly function_call?: { readonly name: string };
  readonly name?: string;
  /** Ollama's name of a result's tool. */
  readonly tool_name?: string;
}

/** The messages of a request body of any wire format. */
export function messagesIn(body: Readonly<Record<string, unknown>>): readonly WireMessage[] {
  const { messages = [], input, contents } = body;
  if (Array.isArray(input)) return mergeAnswers(input.map(fromItem));
  if (Array.isArray(contents)) return contents.flatMap(fromContent);
  return fromOllama(messages as readonly WireMessage[]);
}

/** Ollama's calls have no ids: the results follow their calls in the same order. */
function fromOllama(messages: readonly WireMessage[]): readonly WireMessage[] {
  let calls = 0;
  let results = 0;
  return messages.map((message) => {
    if (message.tool_name !== undefined) return { ...message, tool_call_id: `call${results++}` };
    const { tool_calls: list } = message;
    if (list === undefined || list.every(({ id }) => id !== undefined)) return message;
    return { ...message, tool_calls: list.map((call) => ({ ...call, id: `call${calls++}` })) };
  });
}

interface ResponsesItem {
  readonly type?: string;
  readonly role?: string;
  readonly content?: unknown;
  readonly call_id?: string;
  readonly output?: unknown;
}

function fromItem(item: ResponsesItem): WireMessage {
  const { type, role = "", content, call_id = "", output } = item;
  if (type === "function_call") return { role: "assistant", content: [item], tool_calls: [{ id: call_id }] };
  if (type === "function_call_output") return { role: "tool", content: output, tool_call_id: call_id };
  return type === "reasoning" ? { role: "assistant", content: [item] } : { role, content };
}

/** In the Responses API an answer is several items, which become one message. */
function mergeAnswers(messages: readonly WireMessage[]): WireMessage[] {
  const merged: WireMessage[] = [];
  for (const message of messages) {
    const last = merged.at(-1);
    if (message.role !== "assistant" || last?.role !== "assistant") merged.push(message);
    else
      merged[merged.length - 1] = {
        role: "assistant",
        content: [...toBlocks(last.content), ...toBlocks(message.content)],
        tool_calls: [...(last.tool_calls ?? []), ...(message.tool_calls ?? [])],
      };
  }
  return merged;
}

function toBlocks(content: unknown): readonly unknown[] {
  return Array.isArray(content) ? content : [{ type: "text", text: content }];
}

interface GoogleContent {
  readonly role: string;
  readonly parts: readonly {
    readonly text?: string;
    readonly functionCall?: { readonly name: string };
    readonly functionResponse?: { readonly name: string; readonly response: unknown };
  }[];
}

/** Google's calls have no ids: a result belongs to the call of the same tool at the same position. */
function fromContent({ role, parts }: GoogleContent): WireMessage[] {
  const results = parts.flatMap(({ functionResponse: result }) => result ?? []);
  if (results.length > 0)
    return results.map(({ name, response }, at) => ({
      role: "tool",
      content: response,
      tool_call_id: `${name}${at}`,
    }));
  const calls = parts
    .flatMap(({ functionCall }) => functionCall ?? [])
    .map(({ name }, at) => ({ id: `${name}${at}` }));
  return [{ role: role === "model" ? "assistant" : role, content: parts, tool_calls: calls }];
}
