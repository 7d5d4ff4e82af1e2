import { randomUUID } from "node:crypto";
import { readFile, stat } from "node:fs/promises";
import { basename, join } from "node:path";
import {
  createChatDirectory,
  type DirectoryRules,
  formatTarget,
  type KnownChat,
} from "../../gateway/directory/chat-directory.ts";
import { createMirror } from "../../gateway/directory/mirror.ts";
import { createOutbox, type OutboxEntry } from "../../gateway/outbox/outbox.ts";
import { keepOutgoingFile } from "../../gateway/outbox/outgoing-files.ts";
import { MAX_PARTS, splitText } from "../../gateway/outbox/split-text.ts";
import type { Capabilities, OutboundPart, Target } from "../../gateway/platform.ts";
import { listReadiness, openConfiguredPlatforms } from "../../gateway/platforms/configured-platforms.ts";
import { GATEWAY_LEASE } from "../../gateway/runner/gateway-lease.ts";
import { openGatewayDatabase } from "../../gateway/store/gateway-database.ts";
import { AppError } from "../../lib/errors.ts";
import type { Log } from "../../lib/log/log.ts";
import { createLeases } from "../../lib/sqlite/lease.ts";
import { systemClock } from "../../lib/time/clock.ts";
import type { App } from "../app.ts";

/** Sends messages through the outbox of a gateway, which is the only process that talks to the platforms. */
export interface Sender extends Disposable {
  list(): readonly KnownChat[];
  /** Finds the chats that a comma-separated text names; throws `target-unknown`. */
  resolve(text: string): readonly Target[];
  /** Stores a message. Messages with the same `name` are sent only once. */
  send(message: OutgoingMessage, signal: AbortSignal): Promise<SentMessage>;
  /** Whether a gateway is running, which delivers the messages. */
  isRunning(signal: AbortSignal): Promise<boolean>;
}

export interface OutgoingMessage {
  readonly target: Target;
  readonly text: string;
  readonly file?: string | undefined;
  readonly name?: string | undefined;
}

export interface SentMessage {
  readonly target: string;
  /** The delivery state of each part of the message. */
  parts(): readonly OutboxEntry[];
}

export async function openSender(app: App, log: Log, signal: AbortSignal): Promise<Sender> {
  const { profile, resolved } = app;
  const { platforms, gateway } = resolved.config;
  const database = await openGatewayDatabase(profile.gatewayPath, systemClock, signal);
  const [outbox, mirror, directory] = [
    createOutbox(database),
    createMirror(database),
    createChatDirectory(database),
  ];
  const on = listReadiness(platforms).filter(({ isOn }) => isOn);
  const rules: DirectoryRules = {
    homes: new Map(on.map(({ name }) => [name, platforms[name].home_channel])),
    aliases: gateway.channel_aliases,
  };

  async function capabilitiesOf(name: string): Promise<Capabilities> {
    const parts = {
      clock: systemClock,
      log,
      variables: app.variables,
      variable: resolved.variable,
      maxAttachmentBytes: 0,
    };
    const only = Object.fromEntries(
      Object.entries(platforms).map(([key, options]) => [
        key,
        key === name ? options : { ...options, enabled: false },
      ]),
    ) as typeof platforms;
    const [opened] = await openConfiguredPlatforms(only, parts);
    if (opened !== undefined) return opened.platform.capabilities;
    throw new AppError("target-unknown", `${name} is not set up completely.`);
  }

  return {
    list: directory.list,
    resolve: (text) =>
      text
        .split(",")
        .filter((one) => one.trim() !== "")
        .map((one) => directory.resolve(one.trim(), rules)),
    async send({ target, text, file, name = randomUUID() }, within) {
      const capabilities = await capabilitiesOf(target.platform);
      const divided = splitText(text, capabilities);
      if (divided.length >= MAX_PARTS)
        throw new AppError(
          "send-refused",
          `The message is too long: on ${target.platform} it would be ${MAX_PARTS} messages or more.`,
          { hint: capabilities.maxFileBytes > 0 ? "Send it as a file: `--file PATH`." : "Shorten it." },
        );
      const contents: OutboundPart["content"][] = divided.map((part) => ({ type: "text", text: part }));
      if (file !== undefined) contents.push(await keepFile(file, target, capabilities.maxFileBytes));
      const source = `send:${name}:${formatTarget(target)}`;
      await database.write(() => {
        outbox.add({ source, target, contents });
        mirror.add(source, target, text === "" ? `[the file ${basename(file ?? "")}]` : text);
      }, within);
      return { target: formatTarget(target), parts: () => outbox.ofSource(source) };
    },
    isRunning: async (within) =>
      (await createLeases(database).findHolder(GATEWAY_LEASE, within)) !== undefined,
    [Symbol.dispose]: () => database[Symbol.dispose](),
  };

  async function keepFile(path: string, { platform }: Target, maxBytes: number) {
    if (maxBytes === 0) throw new AppError("send-refused", `Files cannot be sent on ${platform}.`);
    const found = await stat(path).catch((cause: unknown) => {
      throw new AppError("send-refused", `${path} cannot be read.`, { cause });
    });
    if (!found.isFile()) throw new AppError("send-refused", `${path} is not a file.`);
    if (found.size === 0) throw new AppError("send-refused", `${path} is empty.`);
    if (found.size > maxBytes)
      throw new AppError(
        "send-refused",
        `${path} is larger than ${maxBytes} bytes, the most on ${platform}.`,
      );
    const bytes = await readFile(path);
    return keepOutgoingFile({ name: basename(path), bytes }, join(profile.home, "cache", "outbound"));
  }
}
