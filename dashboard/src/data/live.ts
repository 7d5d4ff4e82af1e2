import type { Api } from "./api.ts";
import type { LiveStatus } from "./live-status.ts";
import { createTabs } from "./live-tabs.ts";
import { Problem } from "./problem.ts";
import { isNewer, type LiveEvent, readStream } from "./read-stream.ts";

/** The events of the server. All tabs of the browser share one connection. */
export interface Live {
  status(): LiveStatus;
  onStatus(listener: () => void): () => void;
  /** Subscribes to every event, including those of the stream itself (`hello`, `beat`, `reset`, `bye`). */
  onEvent(listener: (event: LiveEvent) => void): () => void;
  /**
   * Subscribes to the events of a topic that are newer than a snapshot; returns a function that unsubscribes. Events that
   * arrived while the snapshot was being read are delivered at once.
   */
  follow(topic: string, at: string | null, listener: (event: LiveEvent) => void): () => void;
  /** Connects now instead of waiting for the next attempt. */
  retry(): void;
  /** Starts reading; called after sign-in. */
  start(): void;
  stop(): void;
}

/** Two beats of the server and a margin. */
const DEAD_AFTER_MS = 40_000;
/** How long a connection must be lost before the page shows it. */
const SHOW_LOST_AFTER_MS = 3_000;
const RETRIES_MS = [1_000, 2_000, 5_000, 10_000];
const HIDDEN_MS = 10_000;
const CHECK_EVERY_MS = 5_000;
/** Recent events, for snapshots that were being read when the events arrived. */
const KEPT_EVENTS = 500;

export function createLive(api: Api, onSignedOut: () => void): Live {
  const eventListeners = new Set<(event: LiveEvent) => void>();
  const statusListeners = new Set<() => void>();
  const kept: LiveEvent[] = [];
  const tabs = createTabs({
    onEvent: deliver,
    onStatus: (next) => show(next),
    status: () => status,
    onTopics: (topics) => void sendTopics(topics),
    onRetry: () => wake(),
  });

  let running: AbortController | undefined;
  let connection: AbortController | undefined;
  let status: LiveStatus = { state: "connecting" };
  let lastId: string | undefined;
  let stream: { readonly name: string; topics: ReadonlySet<string> } | undefined;
  let heardAt = 0;
  let attempt = 0;
  let wake = (): void => undefined;
  let showLostTimer = 0;

  function show(next: LiveStatus): void {
    status = next;
    for (const listener of statusListeners) listener();
  }

  function setStatus(next: LiveStatus): void {
    show(next);
    tabs.tellStatus(next);
  }

  function deliver(event: LiveEvent): void {
    heardAt = Date.now();
    if (event.id !== "") {
      lastId = event.id;
      kept.push(event);
      if (kept.length > KEPT_EVENTS) kept.shift();
    }
    for (const listener of [...eventListeners]) listener(event);
  }

  function receive(event: LiveEvent): void {
    clearTimeout(showLostTimer);
    attempt = 0;
    if (status.state !== "live" || status.lostAt !== undefined) setStatus({ state: "live" });
    const { at, backInMs } = (event.data ?? {}) as { at?: string; backInMs?: number };
    if (event.name === "hello" && at !== undefined) lastId = at;
    if (event.name === "bye") connection?.abort(backInMs);
    tabs.tellEvent(event);
    deliver(event);
    if (event.name === "hello") void sendTopics(tabs.topics());
  }

  /** Records that the connection is lost. The state `lost` follows after a delay, so that a short interruption is not shown. */
  function lose(retryAt: number): void {
    const lostAt = status.lostAt ?? Date.now();
    setStatus({ state: status.state, lostAt, retryAt });
    clearTimeout(showLostTimer);
    showLostTimer = window.setTimeout(
      () => {
        if (status.lostAt !== undefined) setStatus({ ...status, state: "lost" });
      },
      Math.max(0, lostAt + SHOW_LOST_AFTER_MS - Date.now()),
    );
  }

  /** Reads the stream and reconnects, until the signal aborts or the browser is signed out. */
  async function lead(signal: AbortSignal): Promise<void> {
    tabs.setLeading(true);
    try {
      while (!signal.aborted) {
        const current = new AbortController();
        connection = current;
        heardAt = Date.now();
        const watch = window.setInterval(() => {
          if (Date.now() - heardAt > DEAD_AFTER_MS) current.abort();
        }, CHECK_EVERY_MS);
        try {
          const topics = Object.keys(tabs.topics());
          stream = { name: randomName(), topics: new Set(lastId === undefined ? [] : topics) };
          const request = { name: stream.name, after: lastId, topics: [...stream.topics] };
          await readStream(api, request, receive, AbortSignal.any([signal, current.signal]));
        } catch (error) {
          if (error instanceof Problem && error.status === 401) {
            running?.abort();
            onSignedOut();
            return;
          }
        } finally {
          clearInterval(watch);
          stream = undefined;
        }
        if (signal.aborted) return;
        const reason: unknown = current.signal.reason;
        const delay =
          typeof reason === "number" ? reason : (RETRIES_MS[Math.min(attempt, RETRIES_MS.length - 1)] ?? 0);
        attempt += 1;
        lose(Date.now() + delay);
        await sleepUntilWoken(delay, signal);
      }
    } finally {
      tabs.setLeading(false);
    }
  }

  function sleepUntilWoken(ms: number, signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const timer = window.setTimeout(resolve, ms);
      wake = () => {
        clearTimeout(timer);
        resolve();
      };
      signal.addEventListener("abort", wake, { once: true });
    });
  }

  /** Sends changed topics to the server, each with the position of its snapshot. */
  async function sendTopics(topics: Readonly<Record<string, string | null>>): Promise<void> {
    const current = stream;
    const names = Object.keys(topics);
    if (current === undefined || lastId === undefined) return; // `receive` sends them when `hello` arrives
    if (names.length === current.topics.size && names.every((name) => current.topics.has(name))) return;
    const known = current.topics;
    current.topics = new Set(names);
    const positions = Object.fromEntries(
      names.map((name) => [name, known.has(name) ? (lastId ?? null) : (topics[name] ?? null)]),
    );
    try {
      const answer = await api.send<{ reset: readonly string[] }>("PUT", `events/${current.name}/topics`, {
        topics: positions,
      });
      if (answer.reset.length > 0)
        receive({ id: "", name: "reset", topic: null, data: { topics: answer.reset } });
    } catch {
      if (stream === current) connection?.abort(0); // the next connection names all topics
    }
  }

  /** Waits until this tab may lead, or takes over from a frozen leader. */
  async function waitToLead(signal: AbortSignal): Promise<void> {
    heardAt = Date.now();
    tabs.join();
    let leadership: AbortController | undefined;
    const request = (options: LockOptions): Promise<void> =>
      navigator.locks.request(tabs.name, options, async () => {
        leadership = new AbortController();
        await lead(AbortSignal.any([signal, leadership.signal]));
      });
    const watch = window.setInterval(() => {
      if (tabs.isLeading() || document.hidden || Date.now() - heardAt <= DEAD_AFTER_MS) return;
      heardAt = Date.now();
      request({ steal: true }).catch(() => leadership?.abort());
    }, CHECK_EVERY_MS);
    while (!signal.aborted) {
      // Rejected if another tab steals the lock; then this tab waits for it again.
      await request({ signal }).catch(() => leadership?.abort());
    }
    clearInterval(watch);
  }

  /** Without locks every tab needs its own stream, and a browser allows six: hidden tabs close theirs. */
  async function readAlone(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const hidden = new AbortController();
      let timer = 0;
      const onVisibility = (): void => {
        clearTimeout(timer);
        if (document.hidden) timer = window.setTimeout(() => hidden.abort(), HIDDEN_MS);
      };
      document.addEventListener("visibilitychange", onVisibility, { signal });
      await lead(AbortSignal.any([signal, hidden.signal]));
      document.removeEventListener("visibilitychange", onVisibility);
      if (!hidden.signal.aborted) return;
      setStatus({ state: "away" });
      await new Promise<void>((resolve) => {
        document.addEventListener("visibilitychange", () => resolve(), { once: true, signal });
      });
    }
  }

  const retry = (): void => {
    attempt = 0;
    if (tabs.isLeading()) wake();
    else tabs.askRetry();
  };
  const onReturn = (): void => {
    if (!document.hidden && status.lostAt !== undefined) retry();
  };

  return {
    status: () => status,
    onStatus: (listener) => listen(statusListeners, listener),
    onEvent: (listener) => listen(eventListeners, listener),
    follow(topic, at, listener) {
      const isOurs = (event: LiveEvent): boolean =>
        event.topic === topic && (at === null || event.id === "" || isNewer(event.id, at));
      if (at !== null) for (const event of kept.filter(isOurs)) listener(event);
      const stopListening = listen(eventListeners, (event: LiveEvent) => {
        if (isOurs(event)) listener(event);
      });
      const stopFollowing = tabs.follow(topic, at);
      return () => {
        stopListening();
        stopFollowing();
      };
    },
    retry,
    start() {
      if (running !== undefined && !running.signal.aborted) return;
      running = new AbortController();
      const { signal } = running;
      setStatus({ state: "connecting" });
      addEventListener("online", retry, { signal });
      addEventListener("focus", onReturn, { signal });
      document.addEventListener("visibilitychange", onReturn, { signal });
      tabs.open(signal);
      void ("locks" in navigator ? waitToLead(signal) : readAlone(signal));
    },
    stop: () => running?.abort(),
  };
}

function listen<Listener>(listeners: Set<Listener>, listener: Listener): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

export function randomName(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(12));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
