import type { LiveEventName, LiveEvents, TopicKind } from "../contract/events.ts";

/** Where a source puts its events. */
export interface LiveSink {
  /** Hands one event to all pages that follow the topic. It is serialised once, here. */
  publish<Name extends LiveEventName>(name: Name, data: LiveEvents[Name]): void;
  /** The source can no longer watch. It is closed and opened again after a pause, and the pages of the topic ask again. */
  fail(error: unknown): void;
}

/** Something that watches one part of the system and publishes what changes. It is open only while a page needs it. */
export interface LiveSource {
  readonly kind: TopicKind;
  /**
   * Begins to watch what the topic names (for `board:main` the name is `main`, for `always` it is empty). Resolves once every
   * later change is going to be published. Throws `AppError` if there is no such thing. Disposing ends the watch.
   */
  open(name: string, sink: LiveSink, signal: AbortSignal): Promise<AsyncDisposable>;
}
