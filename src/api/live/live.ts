import { ApiError } from "../api-error.ts";
import type { LiveEventName, LiveEvents, Topic, TopicsChanged } from "../contract/events.ts";
import type { Position } from "../contract/position.ts";
import {
  createJournal,
  formatEvent,
  JOURNAL_LIMITS,
  type JournalEntry,
  type JournalLimits,
} from "./journal.ts";
import { type Listener, openListener } from "./listener.ts";
import type { LiveSource } from "./live-source.ts";
import { createTopics, TOPIC_TIMES, type TopicTimes } from "./topics.ts";

export interface LiveTimes extends TopicTimes {
  readonly beatMs: number;
  readonly stallMs: number;
  /** How long pages wait before they reconnect when the server stops. */
  readonly backInMs: number;
}

export const LIVE_TIMES: LiveTimes = { ...TOPIC_TIMES, beatMs: 15_000, stallMs: 40_000, backInMs: 1_000 };

const MAX_STREAMS_OF_LOGIN = 50;
const MAX_STREAMS = 500;

export interface LiveParts {
  readonly sources: readonly LiveSource[];
  readonly version: string;
  readonly times?: LiveTimes;
  readonly limits?: JournalLimits;
  /** Whether the sign-in that opened a stream is still valid. */
  isSignedIn(signInId: string): boolean;
  onError(error: unknown): void;
}

export interface StreamRequest {
  readonly signInId: string;
  /** The name that the page chose. */
  readonly stream: string;
  readonly topics: readonly Topic[];
  /** The last event that the page has seen. */
  readonly after: Position | undefined;
  /** Cuts the connection, also while the client reads nothing. */
  cut(): void;
}

interface OpenStream {
  readonly signInId: string;
  readonly listener: Listener;
  topics: ReadonlySet<Topic>;
}

/** The stream of events of a server, and the pages that follow it. */
export interface Live extends AsyncDisposable {
  /**
   * Call before reading a snapshot: returns the position for its `at`. Every later change of the topic becomes an event, which
   * a page with this position receives.
   */
  watch(topic: Topic): Promise<Position>;
  follow(request: StreamRequest, gone: AbortSignal): Promise<Response>;
  /** Replaces the topics of a stream; each value is the position of the page's snapshot. */
  changeTopics(
    stream: { readonly signInId: string; readonly stream: string },
    topics: Readonly<Record<Topic, Position | null>>,
  ): Promise<TopicsChanged>;
  /** Ends the streams of a sign-in that has ended. */
  disconnect(signInId: string): void;
  /** The numbers of open streams and topics. */
  counts(): { readonly streams: number; readonly topics: number };
}

export function openLive(parts: LiveParts): Live {
  const { sources, version, times = LIVE_TIMES, limits = JOURNAL_LIMITS, isSignedIn, onError } = parts;
  const journal = createJournal(limits);
  const streams = new Map<string, OpenStream>();
  const tell = <Name extends LiveEventName>(name: Name, data: LiveEvents[Name]): Buffer =>
    formatEvent(name, null, data);
  const reset = (missed: readonly Topic[] | null): Buffer =>
    tell("reset", { at: journal.position(), topics: missed });
  const topics = createTopics({
    ...{ sources, times, mark: journal.mark, onError },
    publish(name, topic, data) {
      const { bytes } = journal.append(name, topic, data);
      for (const { topics: followed, listener } of streams.values())
        if (followed.has(topic)) listener.send(bytes);
    },
    onMissed(topic) {
      for (const { topics: followed, listener } of streams.values())
        if (followed.has(topic)) listener.send(reset([topic]));
    },
  });

  const beat = setInterval(() => {
    const bytes = tell("beat", { at: journal.position() });
    for (const { signInId, listener } of streams.values()) {
      if (isSignedIn(signInId)) listener.send(bytes);
      else listener.end(); // signed out by another process, or expired
    }
  }, times.beatMs).unref();

  /** The events of a topic after a position; undefined if they are not stored. */
  const findMissed = (topic: Topic, after: Position): readonly JournalEntry[] | undefined => {
    const earlier = journal.sequenceOf(after);
    if (earlier === undefined || !topics.isComplete(topic, earlier)) return undefined;
    return journal.after(earlier)?.filter((entry) => entry.topic === topic);
  };

  const keyOf = (signInId: string, stream: string): string => `${signInId} ${stream}`;
  const requireRoom = (signInId: string): void => {
    const own = [...streams.values()].filter((stream) => stream.signInId === signInId).length;
    if (streams.size < MAX_STREAMS && own < MAX_STREAMS_OF_LOGIN) return;
    throw new ApiError(429, "streams_full", "Too many streams of events are open.");
  };

  return {
    async watch(topic) {
      await topics.hold(topic);
      topics.release(topic);
      return journal.position();
    },
    async follow({ signInId, stream, topics: named, after, cut }, gone) {
      gone.throwIfAborted();
      const key = keyOf(signInId, stream);
      streams.get(key)?.listener.cut(); // the page came back before the server saw that its old connection was cut
      requireRoom(signInId);
      const own: OpenStream = {
        signInId,
        topics: new Set<Topic>(["always", ...named]),
        listener: openListener(
          {
            stallMs: times.stallMs,
            reset: () => reset(null),
            cut,
            onEnd() {
              if (streams.get(key) === own) streams.delete(key);
              for (const topic of own.topics) topics.release(topic);
              own.topics = new Set();
            },
          },
          gone,
        ),
      };
      const { listener } = own;
      await Promise.all([...own.topics].map((topic) => topics.hold(topic)));
      gone.throwIfAborted();
      // Nothing is awaited from here on, so that no event is published between the replay and the first event of the stream.
      const followed = [...own.topics];
      const earlier = after === undefined ? undefined : journal.sequenceOf(after);
      const entries = earlier === undefined ? undefined : journal.after(earlier);
      const missed = followed.filter((topic) => earlier === undefined || !topics.isComplete(topic, earlier));
      const resumed = entries !== undefined && missed.length === 0;
      listener.send(tell("hello", { at: journal.position(), resumed, version }));
      if (after !== undefined && !resumed) listener.send(reset(entries === undefined ? null : missed));
      for (const { topic, bytes } of entries ?? [])
        if (own.topics.has(topic) && !missed.includes(topic)) listener.send(bytes);
      streams.set(key, own);
      return listener.response;
    },
    async changeTopics({ signInId, stream }, wanted) {
      const own = streams.get(keyOf(signInId, stream));
      if (own === undefined)
        throw new ApiError(404, "stream_not_found", `There is no stream ${stream}; open it again.`);
      const before = own.topics;
      const after = new Set<Topic>(["always", ...Object.keys(wanted)]);
      const added = [...after].filter((topic) => !before.has(topic));
      await Promise.all(added.map((topic) => topics.hold(topic)));
      if (streams.get(keyOf(signInId, stream)) !== own || own.topics !== before) {
        for (const topic of added) topics.release(topic);
        throw new ApiError(
          409,
          "topics_changed",
          "The stream has ended or got other topics; send them again.",
        );
      }
      own.topics = after;
      for (const topic of before) if (!after.has(topic)) topics.release(topic);
      const missed: Topic[] = [];
      for (const topic of added) {
        const since = wanted[topic];
        if (since === undefined || since === null) continue;
        const entries = findMissed(topic, since);
        if (entries === undefined) missed.push(topic);
        for (const entry of entries ?? []) own.listener.send(entry.bytes);
      }
      return { at: journal.position(), reset: missed };
    },
    disconnect(signInId) {
      for (const stream of [...streams.values()]) if (stream.signInId === signInId) stream.listener.end();
    },
    counts: () => ({ streams: streams.size, topics: topics.open() }),
    async [Symbol.asyncDispose]() {
      clearInterval(beat);
      for (const { listener } of [...streams.values()])
        listener.end(tell("bye", { backInMs: times.backInMs }));
      await topics[Symbol.asyncDispose]();
    },
  };
}
