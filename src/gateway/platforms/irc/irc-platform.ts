import { randomBytes } from "node:crypto";
import { messageOf } from "../../../lib/errors.ts";
import {
  type Connection,
  type InboundMessage,
  type InboundSink,
  type OutboundPart,
  type Platform,
  PlatformFailure,
  type SendResult,
} from "../../platform.ts";
import { openLineSocket } from "../line-socket.ts";
import type { PlatformParts } from "../platform-parts.ts";
import { foldName, type IrcLine, type IrcMessage, parseIrcLine, readIrcMessage } from "./irc-line.ts";
import { registerOnServer } from "./irc-registration.ts";
import type { IrcOptions } from "./options.ts";

/** 512 bytes less the longest sender and target that a server puts before the text. */
const MAX_TEXT_BYTES = 350;
const MAX_LINE_BYTES = 16_384; // with tags
const SILENCE_LIMIT_MS = 150_000;
const PING_EVERY_MS = 60_000;
/** Servers drop clients that write faster: five lines at once, then two each second. */
const BURST_LINES = 5;
const LINE_EVERY_MS = 500;

/** Replies that refuse a message: no such name, not in the channel, not allowed to speak. */
const REFUSALS = new Set([
  "401",
  "403",
  "404",
  "407",
  "411",
  "412",
  "413",
  "414",
  "415",
  "442",
  "477",
  "531",
]);
const JOIN_REFUSALS = new Set(["403", "405", "471", "473", "474", "475", "476", "477"]);

const TARGET = /^[^\s:,][^\s,]*$/;

export function open(options: IrcOptions, parts: PlatformParts): Platform {
  return {
    account: `${foldName(options.nickname)}@${options.server.toLowerCase()}:${options.port}`,
    capabilities: {
      maxTextLength: MAX_TEXT_BYTES,
      textUnit: "bytes",
      markdown: "none",
      hasButtons: false,
      maxFileBytes: 0,
      actions: [],
      silenceLimitMs: SILENCE_LIMIT_MS,
      answersStrangers: true,
    },
    async connect(sink, signal) {
      const { server: host, port, use_tls: isEncrypted } = options;
      const socket = await openLineSocket({ host, port, isEncrypted }, MAX_LINE_BYTES, signal);
      const abort = (): void => socket[Symbol.dispose]();
      signal.addEventListener("abort", abort, { once: true });
      try {
        const lines = socket.lines[Symbol.asyncIterator]();
        const next = async (): Promise<IrcLine | undefined> => {
          for (;;) {
            const line = await lines.next();
            if (line.done) return undefined;
            const parsed = parseIrcLine(line.value);
            if (parsed?.command === "PING") socket.write(`PONG :${parsed.parameters.at(-1) ?? ""}`);
            else if (parsed !== undefined) return parsed;
            sink.alive();
          }
        };
        const nick = await registerOnServer({ options, write: socket.write, next });
        for (const channel of options.channels) socket.write(`JOIN ${withoutBreaks(channel)}`);
        sink.alive();
        return createConnection({ options, parts, sink, nick, write: socket.write, next, close: abort });
      } catch (error) {
        socket[Symbol.dispose]();
        signal.throwIfAborted();
        throw error;
      } finally {
        signal.removeEventListener("abort", abort);
      }
    },
  };
}

interface ConnectionParts {
  readonly options: IrcOptions;
  readonly parts: PlatformParts;
  readonly sink: InboundSink;
  readonly nick: string;
  write(line: string): boolean;
  /** The next line of the server; undefined after the last one. */
  next(): Promise<IrcLine | undefined>;
  close(): void;
}

function createConnection(connection: ConnectionParts): Connection {
  const { options, parts, sink, write, next, close } = connection;
  const { clock } = parts;
  const stop = new AbortController();
  const prefix = randomBytes(6).toString("hex"); // this protocol has no ids, and delivers each message once
  /** The server answers pings in their order, after everything that was written before them. */
  const pings: ((answered: boolean) => void)[] = [];
  const refused = new Map<string, string>();
  let { nick } = connection;
  let received = 0;
  let farewell: string | undefined;
  let lastSend: Promise<unknown> = Promise.resolve();
  let freeLineAt = 0;

  /** Resolves with true once the server has handled all lines before; with false if the connection ended first. */
  function ping(token: string): Promise<boolean> {
    return new Promise((resolve) => {
      pings.push(resolve);
      if (!write(`PING :${token}`)) settlePings();
    });
  }
  function settlePings(): void {
    for (const settle of pings.splice(0)) settle(false);
  }

  async function handle(line: IrcLine): Promise<void> {
    const { command, parameters } = line;
    if (command === "PONG") return pings.shift()?.(true);
    if (command === "ERROR") farewell = parameters.at(-1);
    if (command === "NICK" && foldName(line.from) === foldName(nick)) nick = parameters[0] ?? nick;
    if (REFUSALS.has(command)) refused.set(foldName(parameters[1] ?? ""), parameters.at(-1) ?? command);
    if (
      JOIN_REFUSALS.has(command) &&
      options.channels.some((one) => foldName(one) === foldName(parameters[1] ?? ""))
    )
      parts.log.warn("a channel could not be joined", { channel: parameters[1], reason: parameters.at(-1) });
    const message = readIrcMessage(line, nick);
    if (message === undefined) return;
    await sink.store([toInbound(message, `${prefix}-${++received}`, options, clock.now())]);
  }

  async function read(): Promise<PlatformFailure> {
    try {
      for (let line = await next(); line !== undefined; line = await next()) {
        sink.alive();
        await handle(line);
      }
      return new PlatformFailure("unreachable", farewell ?? "the server closed the connection");
    } catch (error) {
      return new PlatformFailure("not-stored", messageOf(error), { cause: error });
    } finally {
      stop.abort();
      close();
      settlePings();
    }
  }

  async function keepAlive(): Promise<void> {
    for (;;) {
      await clock.sleep(PING_EVERY_MS, stop.signal);
      void ping("alive");
    }
  }

  async function sendNow({ id, chat, content }: OutboundPart, signal: AbortSignal): Promise<SendResult> {
    const target = foldName(chat.chatId);
    // The server would take the first word for the target, and the next for the text.
    if (!TARGET.test(target))
      return { certainty: "not-sent", reason: `${chat.chatId} is no nickname or channel`, isFinal: true };
    const lines =
      content.type === "text" ? content.text.split(/\r?\n/).filter((line) => line.trim() !== "") : [];
    let isWritten = false;
    refused.delete(target);
    try {
      for (const line of lines) {
        await waitForTurn(signal);
        if (!write(`PRIVMSG ${target} :${withoutBreaks(line)}`)) break;
        isWritten = true;
      }
    } catch {
      // Stopped between two lines, or before the first.
      if (isWritten) return { certainty: "unknown", reason: "stopped in the middle of the text" };
    }
    if (!isWritten) return { certainty: "not-sent", reason: "the connection has ended", isFinal: false };
    if (!(await ping(id)))
      return { certainty: "unknown", reason: "the connection ended before the server answered" };
    const reason = refused.get(target);
    return reason === undefined
      ? { certainty: "sent", messageId: undefined }
      : { certainty: "not-sent", reason, isFinal: true };
  }

  async function waitForTurn(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    const now = clock.now();
    const earliest = freeLineAt - BURST_LINES * LINE_EVERY_MS;
    if (earliest > now) await clock.sleep(earliest - now, AbortSignal.any([signal, stop.signal]));
    freeLineAt = Math.max(freeLineAt, now) + LINE_EVERY_MS;
  }

  const ended = read();
  keepAlive().catch(() => undefined); // ends with the connection
  return {
    ended,
    async send(part, signal) {
      // One after the other, so that a refusal belongs to one part.
      const sent = lastSend.then(() => sendNow(part, signal));
      lastSend = sent;
      return sent;
    },
    findSent: async () => ({ certainty: "unknown", reason: "IRC keeps no messages" }),
    act: async () => ({ ok: false }),
    async [Symbol.asyncDispose]() {
      write("QUIT");
      close();
      await ended;
    },
  };
}

function toInbound(message: IrcMessage, id: string, options: IrcOptions, now: number): InboundMessage {
  const { chatId, isDirect, nick, account } = message;
  return {
    id: message.id ?? id,
    chat: { chatId, type: isDirect ? "dm" : "channel", name: isDirect ? nick : chatId },
    sender: {
      id: foldName(account ?? nick),
      name: nick,
      isBot: message.isBot,
      isProven: account !== undefined || options.trust_nicknames,
    },
    text: message.text,
    sentAt: message.sentAt ?? now,
    isAddressed: message.isAddressed,
  };
}

/** A line break would begin a command of its own. */
function withoutBreaks(text: string): string {
  return text.replace(/[\r\n\0]+/g, " ");
}
