import type { LiveStatus } from "./live-status.ts";
import type { LiveEvent } from "./read-stream.ts";

/** Followed topics, each with the position of the snapshot that is shown; null means from now on. */
type Topics = Record<string, string | null>;

type Shared =
  | { readonly kind: "event"; readonly event: LiveEvent }
  | { readonly kind: "status"; readonly status: LiveStatus }
  | { readonly kind: "topics"; readonly tab: string; readonly topics: Topics }
  | { readonly kind: "gone"; readonly tab: string }
  | { readonly kind: "hello" }
  | { readonly kind: "retry" };

interface TabEvents {
  /** An event arrived from the tab that reads the stream. */
  onEvent(event: LiveEvent): void;
  onStatus(status: LiveStatus): void;
  status(): LiveStatus;
  /** Called only in the leading tab: the topics of all tabs may have changed. */
  onTopics(topics: Topics): void;
  onRetry(): void;
}

/** A tab without a message for this long has been closed: each tab answers the beat, which comes every 15 s. */
const FORGOTTEN_AFTER_MS = 60_000;
const GATHER_MS = 20;

/** The messages between the tabs of this browser. The leading tab reads the stream for all of them. */
export function createTabs(events: TabEvents) {
  const name = `hermes-live ${new URL(document.baseURI).pathname}`;
  const self = crypto.getRandomValues(new Uint32Array(2)).join("-");
  const own = new Map<string, { readonly at: string | null; readonly count: number }>();
  const others = new Map<string, { readonly topics: Topics; readonly seenAt: number }>();
  let channel: BroadcastChannel | undefined;
  let leading = false;
  let gather = 0;

  const say = (message: Shared): void => channel?.postMessage(message);
  const ownTopics = (): Topics => Object.fromEntries([...own].map(([topic, { at }]) => [topic, at]));
  const allTopics = (): Topics =>
    Object.assign({}, ...[...others.values()].map(({ topics }) => topics), ownTopics());

  function topicsChanged(): void {
    if (!leading) {
      say({ kind: "topics", tab: self, topics: ownTopics() });
      return;
    }
    clearTimeout(gather);
    gather = window.setTimeout(() => events.onTopics(allTopics()), GATHER_MS);
  }

  function hear({ data }: MessageEvent<Shared>): void {
    if (leading) {
      if (data.kind === "topics") others.set(data.tab, { topics: data.topics, seenAt: Date.now() });
      else if (data.kind === "gone") others.delete(data.tab);
      else if (data.kind === "hello") say({ kind: "status", status: events.status() });
      else if (data.kind === "retry") events.onRetry();
      if (data.kind === "topics" || data.kind === "gone") topicsChanged();
      return;
    }
    if (data.kind === "status") events.onStatus(data.status);
    if (data.kind !== "event") return;
    const { name } = data.event;
    if (name === "beat" || name === "hello") topicsChanged(); // a new leader does not know the topics of this tab yet
    events.onEvent(data.event);
  }

  return {
    name,
    isLeading: () => leading,
    setLeading(value: boolean): void {
      leading = value;
      if (leading) others.clear();
    },
    open(signal: AbortSignal): void {
      channel = new BroadcastChannel(name);
      channel.onmessage = hear;
      addEventListener("pagehide", () => say({ kind: "gone", tab: self }), { signal });
      addEventListener("pageshow", topicsChanged, { signal });
      signal.addEventListener("abort", () => channel?.close());
    },
    /** Asks the leader for its status and sends it the topics of this tab. */
    join(): void {
      say({ kind: "hello" });
      topicsChanged();
    },
    tellStatus(status: LiveStatus): void {
      if (leading) say({ kind: "status", status });
    },
    tellEvent(event: LiveEvent): void {
      say({ kind: "event", event });
      if (event.name !== "beat") return;
      for (const [tab, { seenAt }] of others) {
        if (Date.now() - seenAt > FORGOTTEN_AFTER_MS) others.delete(tab);
      }
      topicsChanged();
    },
    askRetry: () => say({ kind: "retry" }),
    topics: allTopics,
    follow(topic: string, at: string | null): () => void {
      own.set(topic, { at, count: (own.get(topic)?.count ?? 0) + 1 });
      topicsChanged();
      return () => {
        const { count = 1 } = own.get(topic) ?? {};
        if (count > 1) own.set(topic, { at, count: count - 1 });
        else own.delete(topic);
        topicsChanged();
      };
    },
  };
}
