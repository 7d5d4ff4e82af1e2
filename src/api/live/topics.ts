import { AppError } from "../../lib/errors.ts";
import type { LiveEventName, LiveEvents, Topic } from "../contract/events.ts";
import type { LiveSource } from "./live-source.ts";

export interface TopicTimes {
  /** How long a source stays open without a page, so that a reloading page misses nothing. */
  readonly lingerMs: number;
  /** Pauses before a failed source is reopened; the last one repeats. */
  readonly retryMs: readonly number[];
}

export const TOPIC_TIMES: TopicTimes = { lingerMs: 30_000, retryMs: [1_000, 2_000, 5_000, 10_000] };

export interface TopicParts {
  readonly sources: readonly LiveSource[];
  readonly times: TopicTimes;
  /** Returns a new sequence number, greater than those of all events so far. */
  mark(): number;
  publish<Name extends LiveEventName>(name: Name, topic: Topic, data: LiveEvents[Name]): void;
  /** Called when events of the topic were missed. */
  onMissed(topic: Topic): void;
  /** Reports an error that is not a known failure. */
  onError(error: unknown): void;
}

interface OpenTopic {
  holders: number;
  /** The sources of the topic, while they are open or being opened. */
  watch: Watch | undefined;
  /** Closes sources that no page needs any more, or reopens them after a failure. */
  timer: NodeJS.Timeout | undefined;
  failures: number;
}

interface Watch {
  /** The sequence number since which no event was missed; undefined while the sources are being opened. */
  since: number | undefined;
  readonly ready: Promise<void>;
  readonly end: AbortController;
}

/** Keeps the sources of a topic open while the topic has holders, and for a short time after. */
export function createTopics({ sources, times, mark, publish, onMissed, onError }: TopicParts) {
  const topics = new Map<Topic, OpenTopic>();
  const closing = new Set<Promise<void>>();
  let isClosed = false;

  const open = (topic: Topic, state: OpenTopic): Watch => {
    const end = new AbortController();
    const opened: AsyncDisposable[] = [];
    const fail = (error: unknown): void => {
      if (end.signal.aborted) return;
      if (!(error instanceof AppError)) onError(error);
      close(state);
      if (isClosed) return;
      const pause = times.retryMs[Math.min(state.failures, times.retryMs.length - 1)] ?? 0;
      state.failures += 1;
      clearTimeout(state.timer);
      state.timer = setTimeout(() => {
        if (state.holders === 0) return forget(topic, state);
        state.watch = open(topic, state);
        void state.watch.ready.then(() => {
          if (state.watch?.since !== undefined) onMissed(topic);
        });
      }, pause).unref();
    };
    const openAll = async (): Promise<void> => {
      const name = topic.slice(topic.indexOf(":") + 1);
      const kind = topic === "always" ? "always" : topic.slice(0, topic.indexOf(":"));
      const sink = {
        fail,
        publish: <Name extends LiveEventName>(event: Name, data: LiveEvents[Name]): void => {
          if (!end.signal.aborted) publish(event, topic, data);
        },
      };
      const needed = sources.filter((source) => source.kind === kind);
      const results = await Promise.allSettled(
        needed.map(async (source) => {
          const watching = await source.open(kind === "always" ? "" : name, sink, end.signal);
          opened.push(watching);
        }),
      );
      const failed = results.find((result) => result.status === "rejected");
      if (failed !== undefined) return fail(failed.reason);
      if (end.signal.aborted) return;
      state.failures = 0;
      watch.since = mark();
    };
    const ready = openAll();
    const watch: Watch = { since: undefined, ready, end };
    end.signal.addEventListener("abort", () => {
      const closed = ready.then(async () => {
        for (const watching of opened) await watching[Symbol.asyncDispose]();
      });
      const settled = closed.catch(onError).then(() => void closing.delete(settled));
      closing.add(settled);
    });
    return watch;
  };
  const close = (state: OpenTopic): void => {
    state.watch?.end.abort();
    state.watch = undefined;
  };
  const forget = (topic: Topic, state: OpenTopic): void => {
    clearTimeout(state.timer);
    close(state);
    if (topics.get(topic) === state) topics.delete(topic);
  };

  return {
    /** Holds a topic until `release`. Resolves once its sources are open, or have failed for now. */
    async hold(topic: Topic): Promise<void> {
      const state = topics.get(topic) ?? { holders: 0, watch: undefined, timer: undefined, failures: 0 };
      topics.set(topic, state);
      state.holders += 1;
      if (isClosed) return;
      if (state.watch === undefined) {
        clearTimeout(state.timer);
        state.watch = open(topic, state);
      }
      await state.watch.ready;
    },
    release(topic: Topic): void {
      const state = topics.get(topic);
      if (state === undefined) return;
      state.holders -= 1;
      if (state.holders > 0) return;
      clearTimeout(state.timer);
      state.timer = setTimeout(() => {
        if (state.holders === 0) forget(topic, state);
      }, times.lingerMs).unref();
    },
    /** Whether every event of the topic after a sequence number was published. */
    isComplete(topic: Topic, after: number): boolean {
      const since = topics.get(topic)?.watch?.since;
      return since !== undefined && since <= after;
    },
    /** Number of topics whose sources are open. */
    open: (): number => topics.size,
    async [Symbol.asyncDispose]() {
      isClosed = true;
      for (const [topic, state] of topics) forget(topic, state);
      await Promise.all(closing);
    },
  };
}
