import { createServer, type Socket } from "node:net";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { expect } from "vitest";
import type {
  ActResult,
  ChatAction,
  OutboundPart,
  PlatformFailureCode,
  SendResult,
} from "../../src/gateway/platform.ts";
import type {
  ScriptedReply,
  ScriptedRequest,
  WireMessage,
} from "../../src/gateway/platforms/scripted/scripted-wire.ts";
import { tempFolder } from "./temp-folder.ts";

/** A part that has reached a chat. */
interface Delivered {
  readonly messageId: string;
  readonly part: OutboundPart;
  /** The text as people see it after all edits. */
  text: string;
}

/** What the service does with a part: `lose` and `deliver-silently` never answer. */
export type Fault = SendResult | "lose" | "deliver-silently";

/** A messaging service on a socket: it keeps each message until it is acknowledged, and everything that was delivered. */
export interface ScriptedService extends AsyncDisposable {
  readonly address: string;
  readonly delivered: readonly Delivered[];
  readonly actions: readonly ChatAction[];
  /** Cursors that clients greeted with, in order. */
  readonly greetings: readonly (string | undefined)[];
  /** A person writes; the message waits here until the gateway has acknowledged it. Returns its id. */
  write(text: string, change?: Partial<WireMessage>): string;
  /** Delivers a message again, acknowledged or not. */
  repeat(id: string): void;
  /** The texts in one chat, once there are at least `count`. */
  texts(count: number, chatId?: string): Promise<readonly string[]>;
  /** Decides about each part that arrives. */
  onSend(decide: (part: OutboundPart, index: number) => Fault | undefined): void;
  /** Decides about each edit. */
  onEdit(decide: (index: number) => ActResult | undefined): void;
  /** Called once, with the next acknowledgement, or the next action in a chat. */
  onAck(listener: () => void): void;
  onAct(listener: () => void): void;
  /** Whether `find` is answered correctly or with "unknown". */
  setCanTell(canTell: boolean): void;
  /** Whether pings are answered. */
  setSilent(isSilent: boolean): void;
  /** Refuses new connections, or accepts them again. */
  refuse(goodbye: { readonly code: PlatformFailureCode; readonly message: string } | undefined): void;
  /** Breaks all connections. */
  cut(): void;
  readonly unacknowledged: number;
}

const ANNA = { id: "anna", name: "Anna", isBot: false, isProven: true } as const;

export async function startScriptedService(): Promise<ScriptedService> {
  const folder = await tempFolder();
  const address = join(folder.path, "service.sock");
  const sockets = new Set<Socket>();
  const messages: { readonly seq: number; readonly message: WireMessage; acknowledged: boolean }[] = [];
  const delivered: Delivered[] = [];
  const actions: ChatAction[] = [];
  const greetings: (string | undefined)[] = [];
  let decide: (part: OutboundPart, index: number) => Fault | undefined = () => undefined;
  let decideEdit: (index: number) => ActResult | undefined = () => undefined;
  let attempts = 0;
  let edits = 0;
  let acknowledged = (): void => undefined;
  let acted = (): void => undefined;
  let canTell = true;
  let isSilent = false;
  let goodbye: { readonly code: PlatformFailureCode; readonly message: string } | undefined;

  const say = (socket: Socket, reply: ScriptedReply): void => void socket.write(`${JSON.stringify(reply)}\n`);
  const deliver = (part: OutboundPart): SendResult => {
    const messageId = `m${delivered.length + 1}`;
    const text = part.content.type === "text" ? part.content.text : `[file ${part.content.name}]`;
    delivered.push({ messageId, part, text });
    return { certainty: "sent", messageId };
  };
  const once = (listener: () => void, forget: () => void): void => {
    forget();
    listener();
  };
  const push = (message: (typeof messages)[number]): void => {
    for (const socket of sockets)
      say(socket, { type: "message", seq: message.seq, message: message.message });
  };

  function answer(socket: Socket, request: ScriptedRequest): void {
    switch (request.type) {
      case "hello":
        greetings.push(request.cursor);
        if (goodbye !== undefined) {
          say(socket, { type: "goodbye", ...goodbye });
          socket.end();
          return;
        }
        say(socket, { type: "welcome" });
        sockets.add(socket);
        for (const one of messages)
          if (!one.acknowledged) say(socket, { type: "message", seq: one.seq, message: one.message });
        return;
      case "ack":
        once(acknowledged, () => {
          acknowledged = () => undefined;
        });
        for (const one of messages) if (one.seq === request.seq) one.acknowledged = true;
        return;
      case "ping":
        if (!isSilent) say(socket, { type: "pong" });
        return;
      case "send": {
        const fault = decide(request.part, attempts++);
        if (fault === "lose") return;
        if (fault === "deliver-silently") {
          deliver(request.part);
          return;
        }
        const result = fault ?? deliver(request.part);
        say(socket, { type: "result", ref: request.ref, result: { ...result, ok: true } });
        return;
      }
      case "find": {
        const found = delivered.find(({ part }) => part.id === request.part.id);
        const result: SendResult = !canTell
          ? { certainty: "unknown", reason: "this service cannot tell" }
          : found === undefined
            ? { certainty: "not-sent", reason: "not in the chat", isFinal: false }
            : { certainty: "sent", messageId: found.messageId };
        say(socket, { type: "result", ref: request.ref, result: { ...result, ok: true } });
        return;
      }
      case "act": {
        const { action } = request;
        actions.push(action);
        once(acted, () => {
          acted = () => undefined;
        });
        const isLost = action.type === "edit" && !delivered.some((one) => one.messageId === action.messageId);
        const refused = isLost
          ? { ok: false as const, isFinal: true }
          : action.type === "edit"
            ? decideEdit(edits++)
            : undefined;
        if (action.type === "edit" && refused === undefined)
          for (const one of delivered) if (one.messageId === action.messageId) one.text = action.text;
        const result = { certainty: "sent", messageId: undefined, ...(refused ?? { ok: true }) } as const;
        say(socket, { type: "result", ref: request.ref, result });
      }
    }
  }

  const server = createServer((socket) => {
    socket.on("error", () => undefined);
    socket.on("close", () => sockets.delete(socket));
    const lines = createInterface({ input: socket });
    lines.on("error", () => undefined); // it repeats the errors of the socket
    lines.on("line", (line) => answer(socket, JSON.parse(line) as ScriptedRequest));
  });
  await new Promise<void>((resolve) => server.listen(address, resolve));

  return {
    address,
    delivered,
    actions,
    greetings,
    write(text, change) {
      const seq = messages.length + 1;
      const message: WireMessage = {
        id: `in${seq}`,
        chat: { chatId: "anna", type: "dm" },
        sender: ANNA,
        text,
        sentAt: Date.now(),
        isAddressed: true,
        ...change,
      };
      const kept = { seq, message, acknowledged: false };
      messages.push(kept);
      push(kept);
      return message.id;
    },
    repeat(id) {
      for (const one of messages) if (one.message.id === id) push(one);
    },
    async texts(count, chatId) {
      const read = (): string[] =>
        delivered
          .filter(({ part }) => chatId === undefined || part.chat.chatId === chatId)
          .map(({ text }) => text);
      await expect.poll(() => read().length).toBeGreaterThanOrEqual(count);
      return read();
    },
    onSend(next) {
      decide = next;
    },
    onEdit(next) {
      decideEdit = next;
    },
    onAck(listener) {
      acknowledged = listener;
    },
    onAct(listener) {
      acted = listener;
    },
    setCanTell(value) {
      canTell = value;
    },
    setSilent(value) {
      isSilent = value;
    },
    refuse(value) {
      goodbye = value;
    },
    cut() {
      for (const socket of sockets) socket.destroy();
    },
    get unacknowledged() {
      return messages.filter(({ acknowledged }) => !acknowledged).length;
    },
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      await new Promise<void>((resolve) => server.close(() => resolve()));
      await folder[Symbol.asyncDispose]();
    },
  };
}
