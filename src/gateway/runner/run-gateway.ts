import { setMaxListeners } from "node:events";
import { setImmediate as nextRound } from "node:timers/promises";
import type { TurnLimits } from "../../agent/turn-limits.ts";
import { AppError, messageOf } from "../../lib/errors.ts";
import { findWriteProblem } from "../../lib/files/find-write-problem.ts";
import type { Log } from "../../lib/log/log.ts";
import type { Database } from "../../lib/sqlite/database.ts";
import type { Clock } from "../../lib/time/clock.ts";
import { openDeadline } from "../../lib/time/deadline.ts";
import { neverAborted } from "../../lib/time/never-aborted.ts";
import { WakeFlag } from "../../lib/time/wake-flag.ts";
import type { FoundTurn } from "../../sessions/rows/find-turn.ts";
import type { OutgoingFile } from "../../tools/tool-parts.ts";
import type { TurnHost } from "../../turns/turn-host.ts";
import { findTier } from "../access/decide-access.ts";
import { createPairing } from "../access/pairing.ts";
import { answerFooter } from "../answers/answer-footer.ts";
import { type ChatRunner, createChatRunner } from "../chats/chat-runner.ts";
import { createChatStore } from "../chats/chat-store.ts";
import { surfaceOf } from "../chats/platform-surface.ts";
import { logMemory } from "../diagnostics/memory-line.ts";
import { createMirror } from "../directory/mirror.ts";
import type { RuntimeFooterOptions } from "../footer-options.ts";
import type { Hooks } from "../hooks/hooks.ts";
import { createMessageHandler, type MessageHandlerParts } from "../inbox/handle-messages.ts";
import { createInbox } from "../inbox/inbox.ts";
import { storeFiles } from "../inbox/stored-message.ts";
import type { SessionResetOptions, StreamingOptions } from "../options.ts";
import { deliver } from "../outbox/deliver.ts";
import { createOutbox } from "../outbox/outbox.ts";
import { keepOutgoingFile } from "../outbox/outgoing-files.ts";
import { createRateLimitedChats, type RateLimitedChats } from "../outbox/rate-limited-chats.ts";
import { MAX_PARTS, splitText } from "../outbox/split-text.ts";
import { watchOtherProcesses } from "../outbox/watch-other-processes.ts";
import type { ActResult, Capabilities, ChatAction, Connection, Platform, Target } from "../platform.ts";
import type { CommonOptions } from "../platforms/common-options.ts";
import { KEPT_MS, pruneMessages, removeOldFolders } from "../store/prune-messages.ts";
import { createRetryQueue, type RetryQueue, withRetries } from "../store/retry-queue.ts";
import { createGatewayState } from "./gateway-state.ts";
import { keepConnected } from "./platform-link.ts";
import { createReports } from "./platform-reports.ts";
import { restartAfterFailures } from "./restart-after-failures.ts";

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
    readonly continue_within_seconds: number;
    readonly max_concurrent_turns: number;
  };
  /** For how long no gateway ran before this one. */
  readonly downMs: number;
  readonly hooks: Hooks;
  readonly resetOptions: SessionResetOptions;
  /** The title of a session; undefined if it was deleted. */
  titleOf(sessionId: string): string | undefined;
  readonly streaming: StreamingOptions;
  readonly footer: RuntimeFooterOptions;
  /** The folder in which sessions begin, as people read it. */
  readonly cwd: string;
  readonly pairCommand: MessageHandlerParts["pairCommand"];
  /** The folder whose disk all data is on. */
  readonly home: string;
  /** The folder for files of messages, and the one for files that are sent. */
  readonly cache: string;
  readonly outgoing: string;
  /** Prints a line for the person who started the gateway in the foreground. */
  notify(text: string): void;
  readonly clock: Clock;
  readonly random: () => number;
  readonly log: Log;
  findTurn(id: string): FoundTurn | undefined;
  /** What else the gateway runs, such as the dispatcher; each ends when the signal aborts. */
  readonly services: readonly GatewayService[];
}

export interface GatewayService {
  readonly name: string;
  run(signal: AbortSignal, say: AddToOutbox): Promise<void>;
}

/** Adds a text to the outbox. `source` identifies it for all time, so a text that is added twice is sent once. */
export type AddToOutbox = (source: string, target: Target, text: string) => Promise<void>;

/** Why the gateway ends. */
export type GatewayEnd = "stopped" | "restart";

const PRUNE_EVERY_MS = 24 * 3_600_000;

/**
 * Answers on all platforms until `stop` aborts, and then lets the running turns end. The caller holds the lease. What an earlier
 * gateway left behind is finished first.
 */
export async function runGateway(parts: GatewayParts, stop: AbortSignal): Promise<void> {
  const { platforms, turns, clock, log, rules } = parts;
  const retries = createRetryQueue({ clock, ...describeWaits(parts) });
  const database = withRetries(parts.database, retries);
  const disconnect = new AbortController();
  setMaxListeners(0, stop, disconnect.signal); // everything that the gateway waits for listens to them
  const [inbox, outbox, chats] = [createInbox(database), createOutbox(database), createChatStore(database)];
  const state = createGatewayState(database);
  const reports = createReports(state, log);
  const mirror = createMirror(database);
  const stored = new WakeFlag();
  const links = new Map(
    platforms.map((one) => [
      one.name,
      {
        ...one,
        added: new WakeFlag(),
        live: undefined as Connection | undefined,
        quiet: createRateLimitedChats(clock),
        typing: new Set<string>(),
      },
    ]),
  );
  const onAdded = (platform: string): void => links.get(platform)?.added.touch();
  const capabilitiesOf = (platform: string): Capabilities =>
    links.get(platform)?.platform.capabilities ?? UNKNOWN_PLATFORM;
  const split = (platform: string, text: string) =>
    splitText(text, capabilitiesOf(platform)).map((part) => ({ type: "text", text: part }) as const);

  /** Shows something in a chat, unless the service has rate-limited that chat. */
  const actIn = async (
    { live, quiet }: { readonly live: Connection | undefined; readonly quiet: RateLimitedChats },
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
    async spill(platform, text) {
      const capabilities = capabilitiesOf(platform);
      const bytes = Buffer.from(text);
      const isLong = splitText(text, capabilities).length >= MAX_PARTS;
      if (!isLong || bytes.length > capabilities.maxFileBytes) return undefined;
      return keepOutgoingFile({ name: "answer.txt", bytes, caption: "The whole answer" }, parts.outgoing);
    },
    onEvent: parts.hooks.fire,
    toolsetsOf({ platform, message }) {
      const options = links.get(platform)?.options;
      if (options === undefined || message.toolsets !== undefined) return message.toolsets;
      const tier = findTier(message.sender, message.chat.type === "dm", options);
      return tier === "admin" ? undefined : (options.user_toolsets ?? undefined);
    },
    findTurn: parts.findTurn,
    maxTurns: rules.max_concurrent_turns,
    waitForSpace: () => waitForSpace(parts.home, retries),
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
      if (link.typing.has(chat.chatId)) return; // the service is slow, and a second request would wait as well
      link.typing.add(chat.chatId);
      actIn(link, { type: "typing", chat }, stop)
        .catch(() => undefined)
        .finally(() => link.typing.delete(chat.chatId));
    },
  });
  const handler = createMessageHandler({
    ...{ database, inbox, outbox, chats, runner, log, rules, split, onAdded },
    pairing: createPairing(database),
    resetOptions: parts.resetOptions,
    onEvent: parts.hooks.fire,
    clock,
    titleOf: parts.titleOf,
    pairCommand: parts.pairCommand,
    optionsOf: (platform) => links.get(platform)?.options,
    answersStrangers: (platform) => capabilitiesOf(platform).answersStrangers,
  });

  const intake = async (): Promise<void> => {
    for (;;) {
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
          async store(messages, cursor, within = neverAborted) {
            const fresh = messages.filter((message) => !inbox.isKnown(platform.account, message));
            const keep = () => Promise.all(fresh.map((message) => storeFiles(message, parts.cache)));
            const kept = await retries.run(keep, within);
            const account = { platform: name, account: platform.account };
            if ((await inbox.store(account, kept, cursor, within)) > 0) stored.touch();
            await nextRound(); // a platform with many messages at hand must not keep everything else from running
          },
        },
        async deliver(connection, signal) {
          if (own === undefined) return;
          own.live = connection;
          await deliver(
            {
              ...{ outbox, platform: name, clock, partAdded: own.added },
              canEdit: platform.capabilities.actions.includes("edit"),
              onQuiet: own.quiet.add,
            },
            connection,
            signal,
          );
          own.live = undefined;
        },
        onState: reports.report,
        onHeard: reports.heard,
      },
      disconnect.signal,
    );
  };

  const retention = async (signal: AbortSignal): Promise<void> => {
    for (;;) {
      await pruneMessages(database, signal);
      for (const folder of [parts.cache, parts.outgoing])
        await removeOldFolders(folder, clock.now() - KEPT_MS);
      await clock.sleep(PRUNE_EVERY_MS, signal);
    }
  };
  await outbox.abandonAll(neverAborted);
  const isLate = parts.downMs > rules.continue_within_seconds * 1_000;
  await runner.recover(isLate ? parts.downMs : undefined);
  await state.setPhase("running", {}, neverAborted);
  parts.hooks.fire({ event: "gateway:startup" });
  const ending = new AbortController();
  const say: AddToOutbox = async (source, target, text) => {
    const contents = split(target.platform, text);
    await database.write(() => {
      outbox.add({ source, target, contents });
      mirror.add(source, target, text);
    }, neverAborted);
    onAdded(target.platform);
  };
  const supervise = (name: string, run: (signal: AbortSignal) => Promise<void>, signal: AbortSignal) =>
    restartAfterFailures(name, run, { clock, log }, signal);
  const onChange = (): void => {
    for (const { added } of links.values()) added.touch();
  };
  const working = AbortSignal.any([stop, ending.signal]);
  setMaxListeners(0, working, ending.signal);
  const services = [
    supervise("retention", retention, working),
    supervise(
      "other processes",
      (signal) => watchOtherProcesses(database, { clock, onChange }, signal),
      working,
    ),
    logMemory({ log, clock, openConversations: turns.openConversations }, working),
    ...parts.services.map(({ name, run }) => supervise(name, (signal) => run(signal, say), working)),
  ];
  const connections = platforms.map((one) => supervise(one.name, () => link(one), disconnect.signal));
  try {
    await supervise("intake", intake, stop);
  } finally {
    const drain = openDeadline(neverAborted, rules.drain_timeout_seconds * 1_000);
    // Writes that still fail soon after the last turn are given up: the next gateway continues from the stored rows.
    const storeDeadline = turns.drain(drain.signal).then(() => clock.sleep(STORE_WITHIN_MS, ending.signal));
    storeDeadline.then(retries.giveUp, retries.giveUp);
    await state.setPhase("draining", {}, ending.signal).catch(() => undefined);
    await runner.drain(drain.signal);
    drain[Symbol.dispose]();
    await flush(outbox, platforms, clock);
    disconnect.abort();
    await Promise.all(connections);
    await reports.waitUntilWritten();
    ending.abort();
    await Promise.all(services);
  }
}

const STORE_WITHIN_MS = 5_000;

/** Reports once that messages wait and once that they were stored, because the log may be on the same disk. */
function describeWaits({ log, notify }: Pick<GatewayParts, "log" | "notify">) {
  let lost = log.lost;
  return {
    onWait(error: unknown): void {
      lost = log.lost;
      const hint = error instanceof AppError ? ` ${error.hint}` : "";
      notify(`nothing can be stored: ${messageOf(error)}.${hint} Messages wait until that works again.`);
      log.error("nothing can be stored, and messages wait", { error: messageOf(error) });
    },
    onResume(waitedMs: number): void {
      notify(`everything is stored again, after ${Math.ceil(waitedMs / 1_000)} s.`);
      log.warn("everything is stored again", { waitedMs, lostLogLines: log.lost - lost });
    },
  };
}

/** Resolves when files can be written below the home, so that a turn that failed without space can be continued. */
function waitForSpace(home: string, retries: RetryQueue): Promise<void> {
  return retries.run(async () => {
    const problem = await findWriteProblem(home);
    if (problem !== undefined) throw new AppError("database-unavailable", problem);
  }, neverAborted);
}

const FLUSH_WITHIN_MS = 5_000;

/** Gives the last answers a moment to be sent; the next gateway sends what remains. */
async function flush(
  outbox: ReturnType<typeof createOutbox>,
  platforms: readonly ConfiguredPlatform[],
  clock: Clock,
): Promise<void> {
  using deadline = openDeadline(neverAborted, FLUSH_WITHIN_MS);
  const isOpen = (): boolean => {
    const isSending = new Set(
      outbox.counts().flatMap((row) => (row.state === "sending" ? row.platform : [])),
    );
    return platforms.some(({ name }) => {
      const at = outbox.nextDueAt(name);
      return isSending.has(name) || (at !== undefined && at <= clock.now());
    });
  };
  while (isOpen() && !deadline.isOver) await clock.sleep(50, neverAborted);
}

/** Parts for a platform that is not configured wait until it is. */
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
