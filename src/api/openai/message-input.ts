import { z } from "zod";
import type { Exchange } from "../../conversation/conversation.ts";
import { messageOf } from "../../lib/errors.ts";
import { type ParsedImage, parseImage } from "../../providers/image.ts";
import type { ImagePart, UserMessage } from "../../providers/message.ts";
import { ApiError } from "../api-error.ts";

const MAX_TEXT = 64 * 1024;
const MAX_PARTS = 1_000;
const MAX_IMAGES = 20;

const imageAddress = z.union([z.string(), z.looseObject({ url: z.string() })]);
const part = z.looseObject({
  type: z.string(),
  text: z.string().optional(),
  image_url: imageAddress.optional(),
});
const content = z.union([z.string(), z.array(part)]);

/** A message of a client, in the formats of chat completions and of responses. */
export const messageSchema = z.looseObject({
  role: z.enum(["system", "developer", "user", "assistant", "tool", "function"]),
  content: content.nullish(),
  tool_calls: z
    .array(
      z.looseObject({ id: z.string(), function: z.looseObject({ name: z.string(), arguments: z.string() }) }),
    )
    .nullish(),
  tool_call_id: z.string().nullish(),
});

export type ClientMessage = z.infer<typeof messageSchema>;

/** The messages of a client as the input of a turn. */
export interface ParsedInput {
  /** The texts of system and developer messages. */
  readonly instructions: string;
  readonly earlier: readonly Exchange[];
  /** The newest message of the user. */
  readonly text: string;
  readonly images: readonly ImagePart[];
}

type FetchImage = (address: string, signal: AbortSignal) => Promise<ParsedImage>;

/** Parses the messages of a client. The turn answers the last one. */
export async function parseMessages(
  messages: readonly ClientMessage[],
  fetchImage: FetchImage,
  signal: AbortSignal,
): Promise<ParsedInput> {
  const count = messages.reduce((sum, { content }) => sum + (Array.isArray(content) ? content.length : 1), 0);
  if (count > MAX_PARTS)
    throw new ApiError(400, "too_many_parts", `The request has ${count} parts; the limit is ${MAX_PARTS}.`);
  const load = createPartLoader(fetchImage, signal);
  const instructions: string[] = [];
  const said: { role: "user" | "assistant"; parts: UserMessage["parts"] }[] = [];
  for (const { role: as, content, tool_calls: calls, tool_call_id: callId } of messages) {
    const isResult = as === "tool" || as === "function";
    const role = isResult ? "user" : as;
    // Calls of client functions for which no turn waits are given to the model as text.
    const called = (calls ?? []).map(
      ({ id, function: { name, arguments: input } }) =>
        ({ type: "text", text: `[Called ${name}(${input}) as ${id}]` }) as const,
    );
    const result = isResult ? [{ type: "text", text: `[Result of ${callId ?? "a call"}] ` } as const] : [];
    const parts = [...result, ...(await load(content ?? "")), ...called];
    if (role === "system" || role === "developer") instructions.push(textIn(parts));
    else if (parts.length > 0) {
      const last = said.at(-1);
      if (last?.role === role) last.parts = [...last.parts, { type: "text", text: "\n\n" }, ...parts];
      else said.push({ role, parts });
    }
  }
  const newest = said.pop();
  if (newest?.role !== "user")
    throw new ApiError(400, "message_missing", "The last message must be from the user.", "messages");
  return {
    instructions: instructions.join("\n\n"),
    earlier: toExchanges(said),
    text: textIn(newest.parts),
    images: newest.parts.filter((part) => part.type === "image"),
  };
}

function createPartLoader(fetchImage: FetchImage, signal: AbortSignal) {
  let images = 0;
  return async (value: z.infer<typeof content>): Promise<UserMessage["parts"]> => {
    const parts = typeof value === "string" ? [{ type: "text", text: value }] : value;
    const loaded: UserMessage["parts"][number][] = [];
    for (const { type, text, image_url: image } of parts) {
      if (/^(input_|output_)?text$|^refusal$/.test(type)) {
        if (text !== undefined && text !== "") loaded.push({ type: "text", text: requireShort(text) });
      } else if (type === "image_url" || type === "input_image") {
        if (image === undefined)
          throw new ApiError(400, "invalid_content_part", `A ${type} has no image_url.`);
        if (++images > MAX_IMAGES)
          throw new ApiError(400, "too_many_images", `The limit is ${MAX_IMAGES} images in one request.`);
        loaded.push(await loadImage(typeof image === "string" ? image : image.url, fetchImage, signal));
      } else {
        throw new ApiError(400, "unsupported_content_type", `Content of the type ${type} is not supported.`);
      }
    }
    return loaded;
  };
}

function requireShort(text: string): string {
  if (Buffer.byteLength(text) <= MAX_TEXT) return text;
  throw new ApiError(400, "text_too_long", `A text has more than ${MAX_TEXT / 1024} KiB.`);
}

async function loadImage(
  address: string,
  fetchImage: FetchImage,
  signal: AbortSignal,
): Promise<UserMessage["parts"][number]> {
  const inline = /^data:image\/[\w.+-]+;base64,(?<data>[A-Za-z0-9+/=\s]*)$/.exec(address)?.groups?.["data"];
  const refuse = (why: string) => new ApiError(400, "invalid_image_url", `An image cannot be used: ${why}.`);
  let image: ParsedImage;
  if (inline !== undefined) image = parseImage(Buffer.from(inline, "base64"));
  else if (!/^https?:\/\//i.test(address)) throw refuse("its address is neither http(s) nor data:image");
  else {
    try {
      image = await fetchImage(address, signal);
    } catch (error) {
      signal.throwIfAborted();
      throw refuse(messageOf(error).replace(/\.$/, ""));
    }
  }
  if ("problem" in image) throw refuse(image.problem);
  return image;
}

/** Pairs each message with its answer. An answer before the first message gets a placeholder as its message. */
function toExchanges(said: readonly { role: string; parts: UserMessage["parts"] }[]): Exchange[] {
  const exchanges: Exchange[] = [];
  let asked: UserMessage["parts"] | undefined;
  for (const { role, parts } of said) {
    if (role === "user") asked = parts;
    else {
      exchanges.push({ parts: asked ?? [{ type: "text", text: "[No message.]" }], answer: textIn(parts) });
      asked = undefined;
    }
  }
  return exchanges;
}

function textIn(parts: UserMessage["parts"]): string {
  return parts.map((part) => (part.type === "text" ? part.text : "")).join("");
}
