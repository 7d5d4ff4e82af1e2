import { readFile, stat } from "node:fs/promises";
import type { Update } from "grammy/types";
import { type Api, InputFile } from "grammy/web";
import { messageOf } from "../../../lib/errors.ts";
import { shorten } from "../../../lib/text/shorten.ts";
import {
  type ActResult,
  type ChatAction,
  type InboundAttachment,
  type InboundMessage,
  type InboundSink,
  type OutboundPart,
  type Platform,
  PlatformFailure,
  type SendResult,
} from "../../platform.ts";
import type { PlatformParts } from "../platform-parts.ts";
import type { TelegramOptions } from "./options.ts";
import { type FileReference, type OwnBot, readUpdate } from "./read-update.ts";
import {
  connectionFailure,
  describeError,
  openTelegramApi,
  refusalOf,
  retryAfterMs,
  type TelegramApi,
} from "./telegram-api.ts";

const MAX_TEXT_LENGTH = 4_096;
const MAX_CAPTION_LENGTH = 1_024;
/** Limits of the Bot API for files from and to people. */
const MAX_DOWNLOAD_BYTES = 20 * 1024 * 1024;
const MAX_UPLOAD_BYTES = 50 * 1024 * 1024;
const MAX_PHOTO_BYTES = 10 * 1024 * 1024;
const MAX_BUTTON_BYTES = 64;
const HOLD_SECONDS = 25;
const POLL_WITHIN_MS = 45_000;
const CALL_WITHIN_MS = 30_000;
const UPLOAD_WITHIN_MS = 180_000;
const SILENCE_LIMIT_MS = 120_000;
/** The server may hold the request of a process that was killed for half a minute. */
const CONFLICT_AT_START_MS = 35_000;
const CONFLICT_LATER_MS = 60_000;
const CONFLICT_RETRY_MS = 3_000;
const IN_USE = "another program receives the messages of this bot; each bot can be used by one program only";

export function open(options: TelegramOptions, parts: PlatformParts): Platform {
  return {
    account: `${options.token.replace(/:.*$/s, "")}@telegram`,
    capabilities: {
      maxTextLength: MAX_TEXT_LENGTH,
      textUnit: "utf16",
      markdown: "none",
      hasButtons: true,
      maxFileBytes: MAX_UPLOAD_BYTES,
      actions: ["typing", "edit"],
      silenceLimitMs: SILENCE_LIMIT_MS,
      answersStrangers: true,
    },
    async connect(sink, signal) {
      signal.throwIfAborted();
      const telegram = openTelegramApi(options, parts);
      try {
        const me = await telegram.call((api) => api.getMe(), { withinMs: CALL_WITHIN_MS }, signal);
        await telegram.call(
          (api) => api.deleteWebhook({ drop_pending_updates: false }),
          { withinMs: CALL_WITHIN_MS },
          signal,
        );
        await waitForTurn(telegram, { sink, parts }, signal);
        sink.alive();
        const stop = new AbortController();
        let isOpen = true;
        const ended = receiveUpdates({ telegram, ownBot: me, sink, parts }, stop.signal).finally(() => {
          isOpen = false;
          stop.abort();
        });
        const during = (within: AbortSignal): AbortSignal => AbortSignal.any([within, stop.signal]);
        return {
          ended,
          async send(part, within) {
            if (!isOpen || within.aborted) return notSent("the connection has ended");
            return await sendPart(telegram, part, during(within));
          },
          findSent: async () => ({ certainty: "unknown", reason: "bots cannot read what they have written" }),
          act: async (action, within) =>
            isOpen ? await act(telegram, action, during(within)) : { ok: false },
          async [Symbol.asyncDispose]() {
            isOpen = false;
            stop.abort();
            await ended;
            await telegram[Symbol.asyncDispose]();
          },
        };
      } catch (error) {
        await telegram[Symbol.asyncDispose]();
        signal.throwIfAborted();
        throw error instanceof PlatformFailure ? error : connectionFailure(error);
      }
    },
  };
}

/** Resolves once a poll has succeeded: only this proves that messages reach us and not another program. */
async function waitForTurn(
  telegram: TelegramApi,
  { sink, parts }: { readonly sink: InboundSink; readonly parts: PlatformParts },
  signal: AbortSignal,
): Promise<void> {
  const startedAt = parts.clock.now();
  for (;;) {
    try {
      const limits = { withinMs: CALL_WITHIN_MS };
      await telegram.call(
        (api) => api.getUpdates({ ...fromCursor(sink.cursor), limit: 1, timeout: 0 }),
        limits,
        signal,
      );
      return;
    } catch (error) {
      if (!isConflict(error)) throw error;
      if (parts.clock.now() - startedAt > CONFLICT_AT_START_MS) throw new PlatformFailure("refused", IN_USE);
      await parts.clock.sleep(CONFLICT_RETRY_MS, signal);
    }
  }
}

interface PollingParts {
  readonly telegram: TelegramApi;
  readonly ownBot: OwnBot;
  readonly sink: InboundSink;
  readonly parts: PlatformParts;
}

/** Receives messages until something fails; resolves with the reason. The next request acknowledges what was stored. */
async function receiveUpdates(
  { telegram, ownBot, sink, parts }: PollingParts,
  signal: AbortSignal,
): Promise<PlatformFailure> {
  const { clock } = parts;
  let position = fromCursor(sink.cursor);
  let conflictSince: number | undefined;
  for (;;) {
    let updates: Update[];
    try {
      const request = {
        ...position,
        timeout: HOLD_SECONDS,
        allowed_updates: ["message", "callback_query"] as const,
      };
      updates = await telegram.call((api) => api.getUpdates(request), { withinMs: POLL_WITHIN_MS }, signal);
      conflictSince = undefined;
      sink.alive();
    } catch (error) {
      if (signal.aborted) return new PlatformFailure("unreachable", "the connection was closed");
      if (!isConflict(error)) return connectionFailure(error);
      conflictSince ??= clock.now();
      if (clock.now() - conflictSince > CONFLICT_LATER_MS)
        return new PlatformFailure("unreachable", IN_USE, { retryAfterMs: CONFLICT_RETRY_MS });
      await clock.sleep(CONFLICT_RETRY_MS, signal).catch(() => undefined);
      continue;
    }
    const last = updates.at(-1);
    if (last === undefined) continue;
    try {
      const read = updates.flatMap((update) => readUpdate(update, ownBot, clock.now()) ?? []);
      const messages: InboundMessage[] = [];
      for (const { message, files } of read)
        messages.push(
          files.length === 0
            ? message
            : { ...message, attachments: await fetchFiles(telegram, files, parts, signal) },
        );
      position = { offset: last.update_id + 1 };
      await sink.store(messages, String(position.offset));
      for (const { callbackId } of read)
        if (callbackId !== undefined) void stopSpinner(telegram, callbackId, signal);
    } catch (error) {
      return signal.aborted
        ? new PlatformFailure("unreachable", "the connection was closed")
        : new PlatformFailure("not-stored", messageOf(error), { cause: error });
    }
  }
}

function fromCursor(cursor: string | undefined): { offset?: number } {
  return cursor === undefined ? {} : { offset: Number(cursor) };
}

function isConflict(error: unknown): boolean {
  return refusalOf(error)?.error_code === 409;
}

/** Confirms the press of a button; until then, the app of the person shows a spinner on the button. */
async function stopSpinner(telegram: TelegramApi, callbackId: string, signal: AbortSignal): Promise<void> {
  const limits = { withinMs: CALL_WITHIN_MS };
  await telegram
    .call((api) => api.answerCallbackQuery(callbackId, {}), limits, signal)
    .catch(() => undefined);
}

async function fetchFiles(
  telegram: TelegramApi,
  files: readonly FileReference[],
  { maxAttachmentBytes }: PlatformParts,
  signal: AbortSignal,
): Promise<readonly InboundAttachment[]> {
  const maxBytes = Math.min(maxAttachmentBytes, MAX_DOWNLOAD_BYTES);
  const fetched: InboundAttachment[] = [];
  for (const { fileId, name, mediaType, size = 0 } of files) {
    try {
      if (size > maxBytes) throw new Error(`it is larger than ${maxBytes} bytes`);
      const limits = { withinMs: CALL_WITHIN_MS };
      const { file_path: path } = await telegram.call((api) => api.getFile(fileId), limits, signal);
      if (path === undefined) throw new Error("Telegram does not offer it");
      fetched.push({ name, mediaType, content: await telegram.download(path, maxBytes, signal) });
    } catch (error) {
      signal.throwIfAborted();
      fetched.push({ name, mediaType, problem: describeError(error) });
    }
  }
  return fetched;
}

async function sendPart(telegram: TelegramApi, part: OutboundPart, signal: AbortSignal): Promise<SendResult> {
  const { chat, content, repliesTo } = part;
  const common = {
    ...(chat.threadId !== undefined && { message_thread_id: Number(chat.threadId) }),
    // A button was pressed on a message; a press itself cannot be replied to.
    ...(repliesTo !== undefined &&
      /^\d+$/.test(repliesTo) && {
        reply_parameters: { message_id: Number(repliesTo), allow_sending_without_reply: true },
      }),
  };
  let isWritten = false;
  const onSent = (): void => {
    isWritten = true;
  };
  try {
    if (content.type === "text") {
      const { choices = [] } = content;
      const tooLong = choices.find(({ value }) => Buffer.byteLength(value) > MAX_BUTTON_BYTES);
      if (tooLong !== undefined)
        return notSent(`the choice ${tooLong.label} does not fit into a button`, true);
      const buttons = choices.map(({ label, value }) => [{ text: label, callback_data: value }]);
      const more = {
        ...common,
        link_preview_options: { is_disabled: true },
        ...(buttons.length > 0 && { reply_markup: { inline_keyboard: buttons } }),
      };
      const sent = await telegram.call(
        (api) => api.sendMessage(chat.chatId, content.text, more),
        { withinMs: CALL_WITHIN_MS, onSent },
        signal,
      );
      return { certainty: "sent", messageId: String(sent.message_id) };
    }
    const { size } = await stat(content.path);
    if (size > MAX_UPLOAD_BYTES)
      return notSent(`${content.name} is larger than ${MAX_UPLOAD_BYTES} bytes`, true);
    const file = new InputFile(await readFile(content.path), content.name.replace(/[\r\n";]+/g, "_"));
    const caption =
      content.caption === undefined ? {} : { caption: shorten(content.caption, MAX_CAPTION_LENGTH) };
    const isPhoto = /^image\/(?:jpeg|png)$/.test(content.mediaType) && size <= MAX_PHOTO_BYTES;
    const upload = (api: Api): Promise<{ message_id: number }> =>
      isPhoto
        ? api.sendPhoto(chat.chatId, file, { ...common, ...caption })
        : api.sendDocument(chat.chatId, file, { ...common, ...caption });
    const sent = await telegram.call(upload, { withinMs: UPLOAD_WITHIN_MS, onSent }, signal);
    return { certainty: "sent", messageId: String(sent.message_id) };
  } catch (error) {
    return failedSend(error, isWritten);
  }
}

function failedSend(error: unknown, isWritten: boolean): SendResult {
  const reason = describeError(error);
  const status = refusalOf(error)?.error_code;
  if (status === undefined) return isWritten ? { certainty: "unknown", reason } : notSent(reason);
  if (status >= 500) return { certainty: "unknown", reason };
  const wait = retryAfterMs(error);
  return {
    certainty: "not-sent",
    reason,
    isFinal: status === 400 || status === 403,
    ...(wait !== undefined && { retryAfterMs: wait }),
  };
}

async function act(telegram: TelegramApi, action: ChatAction, signal: AbortSignal): Promise<ActResult> {
  const { chatId, threadId } = action.chat;
  const thread = threadId === undefined ? {} : { message_thread_id: Number(threadId) };
  try {
    await telegram.call<unknown>(
      (api) =>
        action.type === "typing"
          ? api.sendChatAction(chatId, "typing", thread)
          : api.editMessageText(chatId, Number(action.messageId), action.text, {
              link_preview_options: { is_disabled: true },
            }),
      { withinMs: CALL_WITHIN_MS },
      signal,
    );
    return { ok: true };
  } catch (error) {
    if (/message is not modified/i.test(refusalOf(error)?.description ?? "")) return { ok: true };
    return {
      ok: false,
      isFinal: refusalOf(error)?.error_code === 400,
      retryAfterMs: retryAfterMs(error),
    };
  }
}

function notSent(reason: string, isFinal = false): SendResult {
  return { certainty: "not-sent", reason, isFinal };
}
