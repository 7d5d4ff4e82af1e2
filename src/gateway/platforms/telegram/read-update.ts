import type { Message, MessageEntity, Update, User } from "grammy/types";
import type { Chat, InboundMessage, Sender } from "../../platform.ts";

/** A file that a message refers to. */
export interface FileReference {
  readonly fileId: string;
  readonly name: string;
  readonly mediaType: string;
  readonly size: number | undefined;
}

export interface ReadUpdate {
  readonly message: InboundMessage;
  readonly files: readonly FileReference[];
  /** The id of a pressed button, whose press must be confirmed to the service. */
  readonly callbackId?: string | undefined;
}

/** The bot as Telegram knows it. */
export interface OwnBot {
  readonly id: number;
  readonly username: string;
}

/** Reads a message of a person; undefined for any other update, such as a new member. */
export function readUpdate(update: Update, me: OwnBot, now: number): ReadUpdate | undefined {
  const { message, callback_query: press } = update;
  if (press?.data !== undefined && press.message !== undefined) {
    const { chat, message_id: pressed } = press.message;
    const topic = "is_topic_message" in press.message ? press.message.message_thread_id : undefined;
    return {
      message: {
        id: `press-${press.id}`,
        chat: toChat(chat, topic),
        sender: toSender(press.from),
        text: press.data,
        choice: press.data,
        sentAt: now,
        isAddressed: true,
        repliesTo: { id: String(pressed) },
      },
      files: [],
      callbackId: press.id,
    };
  }
  return message === undefined ? undefined : readMessage(message, me);
}

function readMessage(message: Message, me: OwnBot): ReadUpdate | undefined {
  const { from, reply_to_message: answered } = message;
  if (from === undefined || from.id === me.id) return undefined;
  const written = message.text ?? message.caption ?? "";
  const entities = message.entities ?? message.caption_entities ?? [];
  const files = listFiles(message);
  const text = withoutMention(written, entities, me) || describeContent(message);
  if (text === "" && files.length === 0) return undefined;
  const isReply = answered !== undefined && answered.message_id !== message.message_thread_id;
  const replied = answered?.text ?? answered?.caption;
  return {
    message: {
      id: String(message.message_id),
      chat: toChat(message.chat, message.is_topic_message ? message.message_thread_id : undefined),
      sender: toSender(from),
      text,
      sentAt: message.date * 1_000,
      isAddressed:
        message.chat.type === "private" ||
        (isReply && answered.from?.id === me.id) ||
        entities.some((entity) => isForUs(entity, written, me)),
      ...(isReply && { repliesTo: { id: String(answered.message_id), text: replied } }),
    },
    files,
  };
}

/** Whether a piece of a text names us: a mention, or a command that is for no other bot. */
function isForUs({ type, offset, length, ...more }: MessageEntity, text: string, me: OwnBot): boolean {
  const word = text.slice(offset, offset + length).toLowerCase();
  const name = `@${me.username.toLowerCase()}`;
  if (type === "text_mention") return "user" in more && more.user.id === me.id;
  if (type === "bot_command") return !word.includes("@") || word.endsWith(name);
  return type === "mention" && word === name;
}

/** `@bot do this` means "do this"; a name in the middle is kept. */
function withoutMention(text: string, entities: readonly MessageEntity[], me: OwnBot): string {
  const first = entities.find(
    ({ offset, type }) => offset === 0 && (type === "mention" || type === "text_mention"),
  );
  return first !== undefined && isForUs(first, text, me)
    ? text.slice(first.length).replace(/^[\s:,]+/, "")
    : text;
}

function toChat(chat: Message["chat"], topic: number | undefined): Chat {
  const name = "title" in chat ? chat.title : chat.first_name;
  const type = chat.type === "private" ? "dm" : chat.type === "channel" ? "channel" : "group";
  return { chatId: String(chat.id), type, name, ...(topic !== undefined && { threadId: String(topic) }) };
}

function toSender(user: User): Sender {
  const name = [user.first_name, user.last_name].filter(Boolean).join(" ");
  return { id: String(user.id), name, isBot: user.is_bot, isProven: true };
}

function listFiles({
  document,
  photo,
  audio,
  voice,
  video,
  video_note: note,
  animation,
}: Message): FileReference[] {
  const found = [
    // An animation is also a document.
    animation === undefined &&
      document !== undefined && { file: document, name: "document", type: "application/octet-stream" },
    photo !== undefined && { file: photo.at(-1), name: "photo.jpg", type: "image/jpeg" },
    audio !== undefined && { file: audio, name: "audio", type: "audio/mpeg" },
    voice !== undefined && { file: voice, name: "voice.ogg", type: "audio/ogg" },
    video !== undefined && { file: video, name: "video.mp4", type: "video/mp4" },
    note !== undefined && { file: note, name: "video-note.mp4", type: "video/mp4" },
    animation !== undefined && { file: animation, name: "animation.mp4", type: "video/mp4" },
  ];
  return found.flatMap((one) => {
    if (one === false || one.file === undefined) return [];
    const { file, name, type } = one;
    const given = file as { readonly file_name?: string; readonly mime_type?: string }; // photos have neither
    return [
      {
        fileId: file.file_id,
        name: given.file_name ?? name,
        mediaType: given.mime_type ?? type,
        size: file.file_size,
      },
    ];
  });
}

/** Messages without a text that still say something. */
function describeContent({ sticker, location, contact }: Message): string {
  if (sticker !== undefined) return `[sticker ${sticker.emoji ?? ""}]`;
  if (location !== undefined) return `[location ${location.latitude}, ${location.longitude}]`;
  if (contact !== undefined) return `[contact ${contact.first_name} ${contact.phone_number}]`;
  return "";
}
