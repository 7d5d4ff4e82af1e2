import type { LiveEventName, LiveEvents, TopicKind } from "../contract/events.ts";

/** Where a source puts its events. */
export interface LiveSink {
  /** Sends an event to all pages that follow the topic. */
  publish<Name extends LiveEventName>(name: Name, data: LiveEvents[Name]): void;
  /** Reports that the source can no longer watch. It is reopened after a pause, and the pages of the topic are reset. */
  fail(error: unknown): void;
}

/** Watches one part of the system and publishes its changes. It is open only while a page follows a topic of its kind. */
export interface LiveSource {
  readonly kind: TopicKind;
  /**
   * Starts to watch what the topic names (for `board:main` the name is `main`, for `always` it is empty). Once it has resolved,
   * every change is published. Throws `AppError` if the named thing does not exist. Disposing ends the watch.
   */
  open(name: string, sink: LiveSink, signal: AbortSignal): Promise<AsyncDisposable>;
}
