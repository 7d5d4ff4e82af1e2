import { messageOf } from "../../../lib/errors.ts";
import {
  type ActResult,
  type Connection,
  type InboundSink,
  type Platform,
  PlatformFailure,
  type SendResult,
} from "../../platform.ts";
import { type LineSocket, openLineSocket } from "../line-socket.ts";
import type { PlatformParts } from "../platform-parts.ts";
import type { ScriptedOptions } from "./options.ts";
import { fromWire, type ScriptedReply, type ScriptedRequest } from "./scripted-wire.ts";

const SILENCE_LIMIT_MS = 30_000;
const PING_EVERY_MS = 10_000;
const MAX_FILE_BYTES = 1_000_000;
const MAX_LINE_BYTES = 64_000_000;

/** A messaging service that a test plays on a socket. */
export function open({ address, account }: ScriptedOptions, parts: PlatformParts): Platform {
  return {
    account: `${account}@scripted`,
    capabilities: {
      maxTextLength: 2_000,
      textUnit: "code-points",
      markdown: "rendered",
      hasButtons: true,
      maxFileBytes: MAX_FILE_BYTES,
      actions: ["typing", "edit"],
      silenceLimitMs: SILENCE_LIMIT_MS,
      answersStrangers: true,
    },
    async connect(sink, signal) {
      const socket = await openLineSocket({ path: address }, MAX_LINE_BYTES, signal);
      try {
        return await greet(socket, { account, sink, parts }, signal);
      } catch (error) {
        socket[Symbol.dispose]();
        throw error;
      }
    },
  };
}

interface GreetingParts {
  readonly account: string;
  readonly sink: InboundSink;
  readonly parts: PlatformParts;
}

async function greet(
  socket: LineSocket,
  { account, sink, parts }: GreetingParts,
  signal: AbortSignal,
): Promise<Connection> {
  const say = (request: ScriptedRequest): boolean => socket.write(JSON.stringify(request));
  const lines = socket.lines[Symbol.asyncIterator]();
  const abort = (): void => socket[Symbol.dispose]();
  signal.addEventListener("abort", abort, { once: true });
  say({ type: "hello", account, cursor: sink.cursor });
  const first = await lines.next();
  signal.removeEventListener("abort", abort);
  signal.throwIfAborted();
  const welcome = first.done ? undefined : parse(first.value);
  if (welcome?.type === "goodbye") throw new PlatformFailure(welcome.code, welcome.message);
  if (welcome?.type !== "welcome") throw new PlatformFailure("unreachable", "the service hung up");
  sink.alive();

  const waiting = new Map<number, (result: (SendResult & ActResult) | undefined) => void>();
  const stop = new AbortController();
  let refs = 0;

  /** Undefined if the connection ended before the service answered. */
  function ask(
    request: (ref: number) => ScriptedRequest,
    within: AbortSignal,
  ): Promise<(SendResult & ActResult) | undefined> | "not-written" {
    const ref = ++refs;
    if (within.aborted || !say(request(ref))) return "not-written";
    return new Promise((resolve) => {
      const settle = (result: (SendResult & ActResult) | undefined): void => {
        waiting.delete(ref);
        within.removeEventListener("abort", giveUp);
        resolve(result);
      };
      const giveUp = (): void => settle(undefined);
      waiting.set(ref, settle);
      within.addEventListener("abort", giveUp, { once: true });
    });
  }

  async function read(): Promise<PlatformFailure> {
    try {
      for (let next = await lines.next(); !next.done; next = await lines.next()) {
        const reply = parse(next.value);
        sink.alive();
        if (reply?.type === "goodbye") return new PlatformFailure(reply.code, reply.message);
        if (reply?.type === "result") waiting.get(reply.ref)?.(reply.result);
        if (reply?.type !== "message") continue;
        await sink.store([fromWire(reply.message)], String(reply.seq));
        say({ type: "ack", seq: reply.seq });
      }
      return new PlatformFailure("unreachable", "the service hung up");
    } catch (error) {
      return new PlatformFailure("not-stored", messageOf(error), { cause: error });
    } finally {
      stop.abort();
      socket[Symbol.dispose]();
      for (const settle of [...waiting.values()]) settle(undefined);
    }
  }

  async function ping(): Promise<void> {
    while (say({ type: "ping" })) await parts.clock.sleep(PING_EVERY_MS, stop.signal);
  }

  const ended = read();
  ping().catch(() => undefined); // ends with the connection
  return {
    ended,
    async send(part, within) {
      const asked = ask((ref) => ({ type: "send", ref, part }), within);
      if (asked === "not-written")
        return { certainty: "not-sent", reason: "the connection has ended", isFinal: false };
      return (
        (await asked) ?? { certainty: "unknown", reason: "the connection ended before the service answered" }
      );
    },
    async findSent(part, within) {
      const asked = ask((ref) => ({ type: "find", ref, part }), within);
      return asked === "not-written" ? undefined : asked;
    },
    async act(action, within) {
      const asked = ask((ref) => ({ type: "act", ref, action }), within);
      return (asked === "not-written" ? undefined : await asked) ?? { ok: false };
    },
    async [Symbol.asyncDispose]() {
      socket[Symbol.dispose]();
      await ended;
    },
  };
}

function parse(line: string): ScriptedReply | undefined {
  try {
    return JSON.parse(line) as ScriptedReply;
  } catch {
    return undefined;
  }
}
