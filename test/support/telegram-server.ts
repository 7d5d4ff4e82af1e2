import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { expect } from "vitest";

/**
 * The Bot API as Telegram documents it (https://core.telegram.org/bots/api), as far as our platform uses it, written for the
 * tests: Telegram's own server needs accounts and the internet. Checked against the documentation: the envelope and codes of
 * errors, long polling with its confirmation by offset and its conflicts, the limits of texts, captions, buttons and files.
 */
export interface TelegramServer extends AsyncDisposable {
  readonly url: string;
  readonly token: string;
  readonly botId: number;
  /** A person writes in the direct chat, or wherever `change` says. Returns the id of the message. */
  write(text: string, change?: Record<string, unknown>): number;
  /** A person presses a button of a message of the bot. */
  press(messageId: number, data: string): void;
  /** The texts in a chat as people see them, once there are at least `count`. */
  texts(count: number, chatId?: number): Promise<readonly string[]>;
  /** What the bot has sent, as it was requested. */
  readonly sent: readonly SentMessage[];
  /** The methods that were called, in their order, without `getUpdates`. */
  readonly calls: readonly string[];
  readonly files: Map<string, Uint8Array>;
  /** What happens with the next calls of a method. */
  faults(method: string, ...faults: readonly Fault[]): void;
  /** Another program polls for this bot; our request is then answered with a conflict. */
  setOtherProgram(isPolling: boolean): void;
  setWebhook(isSet: boolean): void;
  /** The token is revoked. */
  revoke(): void;
  cut(): void;
}

export interface SentMessage {
  readonly message_id: number;
  readonly method: string;
  readonly fields: Readonly<Record<string, unknown>>;
  /** As people see it now, after edits. */
  text: string;
}

/** `drop`: the connection breaks before anything is done; `drop-after`: afterwards. A text is answered as a page. */
export type Fault =
  | "drop"
  | "drop-after"
  | { readonly code: number; readonly description: string; readonly retryAfter?: number }
  | string;

interface Refusal {
  readonly ok: false;
  readonly error_code: number;
  readonly description: string;
  readonly parameters?: { readonly retry_after: number };
}

interface Poll {
  answer(updates: readonly object[] | Refusal): void;
}

export const ANNA = 1_001;
const MAX_DOWNLOAD_BYTES = 20 * 1024 * 1024;
const BOT_ID = 7_000_001;
const OTHER_REQUEST =
  "terminated by other getUpdates request; make sure that only one bot instance is running";

const refusal = (code: number, description: string): Refusal => ({
  ok: false,
  error_code: code,
  description,
});
const badRequest = (description: string): Refusal => refusal(400, `Bad Request: ${description}`);

function toRefusal({ code, description, retryAfter }: Exclude<Fault, string>): Refusal {
  const parameters = retryAfter === undefined ? {} : { parameters: { retry_after: retryAfter } };
  return { ...refusal(code, description), ...parameters };
}

export async function startTelegramServer(): Promise<TelegramServer> {
  const token = `${BOT_ID}:AAF-secret_of_the_bot_0123456789abcdefg`;
  const updates: { readonly update_id: number }[] = [];
  const sent: SentMessage[] = [];
  const calls: string[] = [];
  const files = new Map<string, Uint8Array>();
  const faults = new Map<string, Fault[]>();
  const sockets = new Set<Socket>();
  let nextUpdate = 500;
  let nextMessage = 10;
  let polling: Poll | undefined;
  let isOtherPolling = false;
  let hasWebhook = false;
  let isRevoked = false;

  function push(update: object): void {
    updates.push({ update_id: nextUpdate++, ...update });
    if (isOtherPolling) return;
    polling?.answer(updates.slice(0, 100));
  }

  /** Why a request for updates is refused at once. */
  function findConflict(): Refusal | undefined {
    const what = hasWebhook
      ? "can't use getUpdates method while webhook is active; use deleteWebhook to delete the webhook first"
      : isOtherPolling
        ? OTHER_REQUEST
        : undefined;
    return what === undefined ? undefined : refusal(409, `Conflict: ${what}`);
  }

  function getUpdates(fields: Readonly<Record<string, unknown>>, reply: (body: object) => void): void {
    // An earlier request is ended, even if another program sent it.
    polling?.answer(refusal(409, `Conflict: ${OTHER_REQUEST}`));
    const offset = Number(fields["offset"] ?? 0);
    while ((updates[0]?.update_id ?? offset) < offset) updates.shift();
    const conflict = findConflict();
    const found = updates.slice(0, Number(fields["limit"] ?? 100));
    const seconds = Number(fields["timeout"] ?? 0);
    let timer: NodeJS.Timeout | undefined;
    const poll: Poll = {
      answer(result) {
        clearTimeout(timer);
        if (polling === poll) polling = undefined;
        reply("ok" in result ? result : { ok: true, result });
      },
    };
    if (conflict !== undefined || found.length > 0 || seconds === 0) poll.answer(conflict ?? found);
    else {
      polling = poll;
      timer = setTimeout(() => poll.answer([]), seconds * 1_000).unref();
    }
  }

  /** Stores what the bot sends, after the checks that Telegram makes. */
  function send(method: string, fields: Readonly<Record<string, unknown>>): object {
    const text = String(fields["text"] ?? "");
    if (method === "sendMessage" && text.trim() === "") return badRequest("message text is empty");
    if (text.length > 4_096) return badRequest("message is too long");
    if (String(fields["caption"] ?? "").length > 1_024) return badRequest("message caption is too long");
    const chatId = Number(fields["chat_id"]);
    if (!Number.isSafeInteger(chatId) || chatId === 404) return badRequest("chat not found");
    if (chatId === 403) return refusal(403, "Forbidden: bot was blocked by the user");
    const markup = fields["reply_markup"] as { inline_keyboard?: { callback_data?: string }[][] } | undefined;
    for (const { callback_data: data = "" } of markup?.inline_keyboard?.flat() ?? [])
      if (data === "" || Buffer.byteLength(data) > 64) return badRequest("BUTTON_DATA_INVALID");
    const message = { message_id: nextMessage++, method, fields, text };
    sent.push(message);
    return {
      ok: true,
      result: { message_id: message.message_id, date: 0, chat: { id: chatId, type: "private" }, text },
    };
  }

  function edit(fields: Readonly<Record<string, unknown>>): object {
    const message = sent.find(({ message_id: id }) => id === Number(fields["message_id"]));
    if (message === undefined) return badRequest("message to edit not found");
    if (message.text === fields["text"])
      return badRequest(
        "message is not modified: specified new message content and reply markup are exactly the same as a current content and reply markup of the message",
      );
    message.text = String(fields["text"]);
    return { ok: true, result: true };
  }

  function getFile(fields: Readonly<Record<string, unknown>>): object {
    const id = String(fields["file_id"]);
    const content = files.get(id);
    if (content === undefined) return badRequest("wrong file_id or the file is temporarily unavailable");
    if (content.length > MAX_DOWNLOAD_BYTES) return badRequest("file is too big");
    return { ok: true, result: { file_id: id, file_unique_id: id, file_path: `documents/${id}` } };
  }

  const methods: Readonly<Record<string, (fields: Readonly<Record<string, unknown>>) => object>> = {
    getMe: () => ({
      ok: true,
      result: {
        id: BOT_ID,
        is_bot: true,
        first_name: "Test",
        username: "our_test_bot",
        can_join_groups: true,
      },
    }),
    deleteWebhook: () => {
      hasWebhook = false;
      return { ok: true, result: true };
    },
    sendMessage: (fields) => send("sendMessage", fields),
    sendDocument: (fields) => send("sendDocument", fields),
    sendPhoto: (fields) => send("sendPhoto", fields),
    editMessageText: edit,
    sendChatAction: () => ({ ok: true, result: true }),
    answerCallbackQuery: () => ({ ok: true, result: true }),
    getFile,
  };

  async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const reply = (body: object): void => {
      const status = "error_code" in body ? Number(body.error_code) : 200;
      response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
    };
    const path = request.url ?? "";
    const content = path.startsWith(`/file/bot${token}/documents/`)
      ? files.get(decodeURIComponent(path.split("/").at(-1) ?? ""))
      : undefined;
    const [, given, method = ""] = /^\/bot([^/]*)\/(\w+)$/.exec(path) ?? [];
    const fields = await readFields(request);
    const fault = faults.get(method)?.shift();
    if (content !== undefined) response.writeHead(200).end(content);
    else if (given !== token || isRevoked) reply(refusal(401, "Unauthorized"));
    else if (fault === "drop") request.socket.destroy();
    else if (typeof fault === "object") reply(toRefusal(fault));
    else if (fault !== undefined && fault !== "drop-after")
      response.writeHead(502, { "content-type": "text/html" }).end(fault);
    else if (method === "getUpdates") getUpdates(fields, reply);
    else {
      calls.push(method);
      const answer = methods[method]?.(fields) ?? refusal(404, "Not Found");
      if (fault === "drop-after") request.socket.destroy();
      else reply(answer);
    }
  }

  const server = createServer((request, response) => {
    handle(request, response).catch(() => response.destroy());
  });
  server.on("connection", (socket) => {
    sockets.add(socket);
    socket.on("close", () => sockets.delete(socket));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const cut = (): void => {
    for (const socket of sockets) socket.destroy();
  };
  const anna = { id: ANNA, is_bot: false, first_name: "Anna", last_name: "Ash" };
  const chat = { id: ANNA, type: "private", first_name: "Anna" };
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    token,
    botId: BOT_ID,
    sent,
    calls,
    files,
    write(text, change = {}) {
      const id = nextMessage++;
      push({
        message: {
          message_id: id,
          date: Math.floor(Date.now() / 1_000),
          from: anna,
          chat,
          ...(text !== "" && { text }),
          ...change,
        },
      });
      return id;
    },
    press(messageId, data) {
      push({
        callback_query: {
          id: `q-${messageId}`,
          from: anna,
          chat_instance: "1",
          data,
          message: { message_id: messageId, date: 1, chat },
        },
      });
    },
    async texts(count, chatId = ANNA) {
      const read = (): string[] =>
        sent.filter(({ fields }) => Number(fields["chat_id"]) === chatId).map(({ text }) => text);
      await expect.poll(() => read().length).toBeGreaterThanOrEqual(count);
      return read();
    },
    faults(method, ...next) {
      faults.set(method, [...(faults.get(method) ?? []), ...next]);
    },
    setOtherProgram(isPolling) {
      isOtherPolling = isPolling;
      if (isPolling) polling?.answer(refusal(409, `Conflict: ${OTHER_REQUEST}`));
    },
    setWebhook(isSet) {
      hasWebhook = isSet;
    },
    revoke() {
      isRevoked = true;
      polling?.answer(refusal(401, "Unauthorized"));
    },
    cut,
    async [Symbol.asyncDispose]() {
      cut();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}

/** The fields of a call: JSON, or a form, whose files become their name and content. */
async function readFields(request: IncomingMessage): Promise<Readonly<Record<string, unknown>>> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  const body = Buffer.concat(chunks).toString();
  const boundary = /^multipart\/form-data; *boundary=(.+)$/.exec(request.headers["content-type"] ?? "")?.[1];
  if (boundary === undefined) return body === "" ? {} : (JSON.parse(body) as Record<string, unknown>);
  const parts = new Map<string, unknown>();
  for (const part of body.split(`--${boundary}`).slice(1, -1)) {
    const end = part.indexOf("\r\n\r\n");
    const head = part.slice(0, end);
    const content = part.slice(end + 4, -2); // a line break belongs to the boundary
    const file = /filename="?([^"\r\n]+)"?/.exec(head)?.[1];
    parts.set(/name="([^"]+)"/.exec(head)?.[1] ?? "", file === undefined ? content : { name: file, content });
  }
  // An uploaded file is referred to by the name of its part.
  const refer = (value: unknown): unknown =>
    parts.get(/^attach:\/\/(.+)$/.exec(String(value))?.[1] ?? "") ?? value;
  return Object.fromEntries([...parts].map(([name, value]) => [name, refer(value)]));
}
