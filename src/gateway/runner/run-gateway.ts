import { setMaxListeners } from "node:events";
import type { TurnLimits } from "../../agent/turn-limits.ts";
import { AppError, messageOf } from "../../lib/errors.ts";
import type { Log } from "../../lib/log/log.ts";
import type { ProcessIdentity } from "../../lib/process/process-identity.ts";
import type { Database } from "../../lib/sqlite/database.ts";
import { holdLease } from "../../lib/sqlite/hold-lease.ts";
import type { Clock } from "../../lib/time/clock.ts";
import { WakeFlag } from "../../lib/time/wake-flag.ts";
import type { FoundTurn } from "../../sessions/rows/find-turn.ts";
import type { OutgoingFile } from "../../tools/tool-parts.ts";
import type { TurnHost } from "../../turns/turn-host.ts";
import { findTier } from "../access/decide-access.ts";
import { createPairing } from "../access/pairing.ts";
import type { RuntimeFooterOptions } from "../footer-options.ts";
import { createMessageHandler, type MessageHandlerParts } from "../inbox/handle-messages.ts";
import { createInbox } from "../inbox/inbox.ts";
import { keepMessage } from "../inbox/kept-message.ts";
import type { SessionResetOptions, StreamingOptions } from "../options.ts";
import { deliver } from "../outbox/deliver.ts";
import { createOutbox } from "../outbox/outbox.ts";
import { createQuietChats, type QuietChats } from "../outbox/quiet-chats.ts";
import { splitText } from "../outbox/split-text.ts";
import type { ActResult, Capabilities, ChatAction, Connection, Platform, Target } from "../platform.ts";
import type { CommonOptions } from "../platforms/common-options.ts";
import { answerFooter } from "../sessions/answer-footer.ts";
import { type ChatRunner, createChatRunner } from "../sessions/chat-runner.ts";
import { createChatTurns } from "../sessions/chat-turns.ts";
import { surfaceOf } from "../sessions/platform-surface.ts";
import { KEPT_MS, pruneMessages, removeOldFolders } from "../store/prune-messages.ts";
import { createGatewayState, GATEWAY_LEASE } from "./gateway-state.ts";
import { keepConnected } from "./platform-link.ts";

/** A platform that is configured, with its settings. */
export interface ConfiguredPlatform {
  readonly name: string;
  readonly label: string;
  readonly options: CommonOptions;
  readonly platform: Platform;
}

export interface GatewayParts {
  readonly database: Database;
  readonly platforms: readonly ConfiguredPlatform[];
  readonly turns: TurnHost;
  readonly limits: TurnLimits;
  readonly rules: MessageHandlerParts["rules"] & {
    readonly drain_timeout_seconds: number;
    readonly media_allow_dirs: readonly string[];
  };
  readonly resets: SessionResetOptions;
  /** The title of a session; undefined if it was deleted. */
  titleOf(sessionId: string): string | undefined;
  readonly streaming: StreamingOptions;
  readonly footer: RuntimeFooterOptions;
  /** The folder in which sessions begin, as people read it. */
  readonly cwd: string;
  readonly pairCommand: MessageHandlerParts["pairCommand"];
  /** The folder for files of messages, and the one for files that are sent. */
  readonly cache: string;
  readonly outgoing: string;
  readonly clock: Clock;
  readonly random: () => number;
  readonly log: Log;
  findTurn(id: string, since: number): FoundTurn | undefined;
  /** What else the gateway runs, such as the dispatcher; each ends when the signal aborts. */
  readonly services: readonly GatewayService[];
}

export interface GatewayService {
  readonly name: string;
  run(signal: AbortSignal, say: Say): Promise<void>;
}

/** Adds a text to the outbox; `source` names it for all time, so that saying it twice is saying it once. */
export type Say = (source: string, target: Target, text: string) => Promise<void>;

/** Why the gateway ends. */
export type GatewayEnd = "stopped" | "restart";

export const GATEWAY_LEASE_MS = 30_000;
const RENEW_EVERY_MS = 10_000;
const PRUNE_EVERY_MS = 24 * 3_600_000;
const never = new AbortController().signal;

/** Holds the one lease of a profile's gateway while `action` runs; `lost` aborts if another process may have taken it. */
export async function holdGatewayLease<Result>(
  database: Database,
  identity: ProcessIdentity,
  clock: Clock,
  action: (lost: AbortSignal) => Promise<Result>,
  signal: AbortSignal,
): Promise<Result> {
  const lease = {
    name: GATEWAY_LEASE,
    ttlMs: GATEWAY_LEASE_MS,
    renewEveryMs: RENEW_EVERY_MS,
    identity,
    clock,
  };
  const held = await holdLease(database, lease, action, signal);
  if ("result" in held) return held.result;
  throw new AppError(
    "gateway-running",
    `A gateway of this profile runs already, as process ${held.heldBy.pid}.`,
  );
}

/**
 * Answers on all platforms until `stop` aborts, and then lets the running turns end. The caller holds the lease. What an earlier
 * gateway left behind is finished first.
 */
export async function runGateway(parts: GatewayParts, stop: AbortSignal): Promise<void> {
  const { database, platforms, turns, clock, log, rules } = parts;
  const disconnect = new AbortController();
  setMaxListeners(0, stop, disconnect.signal); // everything that the gateway waits for listens to them
  const [inbox, outbox, chats] = [createInbox(database), createOutbox(database), createChatTurns(database)];
  const state = createGatewayState(database);
  const stored = new WakeFlag();
  const links = new Map(
    platforms.map((one) => [
      one.name,
      {
        ...one,
        added: new WakeFlag(),
        live: undefined as Connection | undefined,
        quiet: createQuietChats(clock),
      },
    ]),
  );
  const onAdded = (platform: string): void => links.get(platform)?.added.touch();
  const capabilitiesOf = (platform: string): Capabilities =>
    links.get(platform)?.platform.capabilities ?? UNKNOWN_PLATFORM;
  const split = (platform: string, text: string) =>
    splitText(text, capabilitiesOf(platform)).map((part) => ({ type: "text", text: part }) as const);

  /** Shows something in a chat, unless the service wants that chat to be left alone. */
  const actIn = async (
    { live, quiet }: { readonly live: Connection | undefined; readonly quiet: QuietChats },
    action: ChatAction,
    signal: AbortSignal,
  ): Promise<ActResult> => {
    const quietMs = quiet.leftMs(action.chat);
    if (live === undefined || quietMs > 0) return { ok: false, retryAfterMs: quietMs };
    const result = await live.act(action, signal);
    if (!result.ok && result.retryAfterMs !== undefined) quiet.add(action.chat, result.retryAfterMs);
    return result;
  };

  // One object for each platform: an open conversation stays in use while its surface does not change.
  const fileSendings = new Map(
    platforms.flatMap(({ name, platform: { capabilities } }) =>
      capabilities.maxFileBytes === 0
        ? []
        : [
            [
              name,
              {
                maxBytes: capabilities.maxFileBytes,
                folders: rules.media_allow_dirs,
                send: (file: OutgoingFile) => runner.sendFile(file),
              },
            ],
          ],
    ),
  );
  const runner: ChatRunner = createChatRunner({
    ...{ database, inbox, outbox, chats, turns, clock, log, split, onAdded },
    limits: parts.limits,
    outgoing: parts.outgoing,
    toolsetsOf({ platform, message }) {
      const options = links.get(platform)?.options;
      if (options === undefined || message.toolsets !== undefined) return message.toolsets;
      const tier = findTier(message.sender, message.chat.type === "dm", options);
      return tier === "admin" ? undefined : (options.user_toolsets ?? undefined);
    },
    findTurn: parts.findTurn,
    surfaceOf: (platform, toolsets) =>
      surfaceOf(
        platform,
        links.get(platform)?.label ?? platform,
        capabilitiesOf(platform),
        toolsets,
        fileSendings.get(platform),
      ),
    streaming: parts.streaming,
    findEditor(platform, chat) {
      const link = links.get(platform);
      if (!parts.streaming.enabled || !link?.platform.capabilities.actions.includes("edit")) return undefined;
      return (messageId, text, signal) => actIn(link, { type: "edit", chat, messageId, text }, signal);
    },
    footerOf({ target, choices }, facts) {
      const isWanted =
        choices.footer ?? links.get(target.platform)?.options.runtime_footer ?? parts.footer.enabled;
      return isWanted ? answerFooter(parts.footer.fields, facts, parts.cwd) : "";
    },
    showTyping(platform, chat) {
      const link = links.get(platform);
      if (!link?.options.typing_indicator || !link.platform.capabilities.actions.includes("typing")) return;
      actIn(link, { type: "typing", chat }, stop).catch(() => undefined);
    },
  });
  const handler = createMessageHandler({
    ...{ database, inbox, outbox, chats, runner, log, rules, split, onAdded },
    pairing: createPairing(database),
    resets: parts.resets,
    clock,
    titleOf: parts.titleOf,
    pairCommand: parts.pairCommand,
    optionsOf: (platform) => links.get(platform)?.options,
    answersStrangers: (platform) => capabilitiesOf(platform).answersStrangers,
  });

  const intake = async (): Promise<void> => {
    while (!stop.aborted) {
      await handler.handleStored(stop);
      await stored.next(stop);
    }
  };
  // Platforms stay connected while running turns end, so that their answers arrive.
  const link = (one: ConfiguredPlatform): Promise<void> => {
    const { name, platform } = one;
    const own = links.get(name);
    return keepConnected(
      {
        ...{ name, platform, clock, log },
        random: parts.random,
        inbox: {
          cursor: () => inbox.cursor(platform.account),
          async store(messages, cursor) {
            const fresh = messages.filter((message) => !inbox.isKnown(platform.account, message));
            const kept = await Promise.all(fresh.map((message) => keepMessage(message, parts.cache)));
            if ((await inbox.store({ platform: name, account: platform.account }, kept, cursor, never)) > 0)
              stored.touch();
          },
        },
        async deliver(connection, signal) {
          if (own === undefined) return;
          own.live = connection;
          await deliver(
            {
              ...{ outbox, platform: name, clock, added: own.added },
              canEdit: platform.capabilities.actions.includes("edit"),
              onQuiet: own.quiet.add,
            },
            connection,
            signal,
          );
          own.live = undefined;
        },
        onState: (record) => state.setPlatform(record, never),
        onHeard: (heard) => state.setHeard(heard, never),
      },
      disconnect.signal,
    );
  };

  const retention = async (): Promise<void> => {
    for (;;) {
      await pruneMessages(database, never);
      for (const folder of [parts.cache, parts.outgoing])
        await removeOldFolders(folder, clock.now() - KEPT_MS);
      await clock.sleep(PRUNE_EVERY_MS, stop);
    }
  };
  retention().catch((error: unknown) => {
    if (!stop.aborted) log.warn("old messages could not be deleted", { error: messageOf(error) });
  });
  await outbox.abandonAll(never);
  await runner.recover();
  await state.setPhase("running", {}, never);
  const ending = new AbortController();
  const say: Say = async (source, target, text) => {
    const contents = split(target.platform, text);
    await database.write(() => outbox.add({ source, target, contents }), never);
    onAdded(target.platform);
  };
  const services = parts.services.map(async ({ name, run }) => {
    // A service that fails does not take the platforms with it.
    await run(AbortSignal.any([stop, ending.signal]), say).catch((error: unknown) => {
      if (!stop.aborted) log.error("a part of the gateway failed", { part: name, error: messageOf(error) });
    });
  });
  const connections = platforms.map(link);
  try {
    await intake().catch((error: unknown) => {
      if (!stop.aborted) throw error;
    });
    await waitForAbort(stop);
  } finally {
    await state.setPhase("draining", {}, never).catch(() => undefined);
    await runner.drain(
      rules.drain_timeout_seconds === 0
        ? AbortSignal.abort()
        : AbortSignal.timeout(rules.drain_timeout_seconds * 1_000),
    );
    await flush(outbox, platforms, clock);
    ending.abort();
    disconnect.abort();
    await Promise.all([...connections, ...services]);
  }
}

const FLUSH_WITHIN_MS = 5_000;

/** Gives the last answers a moment to leave; what remains is sent by the next gateway. */
async function flush(
  outbox: ReturnType<typeof createOutbox>,
  platforms: readonly ConfiguredPlatform[],
  clock: Clock,
): Promise<void> {
  const until = clock.now() + FLUSH_WITHIN_MS;
  const isOpen = (): boolean =>
    platforms.some(({ name }) => {
      const at = outbox.nextDueAt(name);
      return at !== undefined && at <= clock.now();
    });
  while (isOpen() && clock.now() < until) await clock.sleep(50, never);
}

/** Parts for a platform that is not configured wait for the day when it is. */
const UNKNOWN_PLATFORM: Capabilities = {
  maxTextLength: 2_000,
  textUnit: "code-points",
  markdown: "none",
  hasButtons: false,
  maxFileBytes: 0,
  actions: [],
  silenceLimitMs: 0,
  answersStrangers: false,
};

function waitForAbort(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener("abort", () => resolve(), { once: true });
  });
}
