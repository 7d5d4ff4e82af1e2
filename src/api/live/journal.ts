import { randomBytes } from "node:crypto";
import type { LiveEventName, LiveEvents, Topic } from "../contract/events.ts";
import type { Position } from "../contract/position.ts";

export interface JournalEntry {
  readonly sequence: number;
  readonly topic: Topic;
  /** The event as it is sent to every page. */
  readonly bytes: Buffer;
}

export interface JournalLimits {
  readonly maxEvents: number;
  readonly maxBytes: number;
}

export const JOURNAL_LIMITS: JournalLimits = { maxEvents: 10_000, maxBytes: 8 * 1024 * 1024 };

/** The latest events of this process, each serialised once. Its epoch tells the positions of one process from those of another. */
export function createJournal({ maxEvents, maxBytes }: JournalLimits = JOURNAL_LIMITS) {
  const epoch = randomBytes(6).toString("base64url");
  let entries: JournalEntry[] = [];
  let first = 0; // entries before this index are dropped; the array is cut when half of it is
  let bytes = 0;
  let sequence = 0;
  let dropped = 0;

  const trim = (): void => {
    while (entries.length - first > maxEvents || (bytes > maxBytes && entries.length > first)) {
      bytes -= entries[first]?.bytes.length ?? 0;
      dropped = entries[first]?.sequence ?? dropped;
      first += 1;
    }
    if (first < entries.length / 2) return;
    entries = entries.slice(first);
    first = 0;
  };

  return {
    /** The position of the latest event. */
    position: (): Position => `${epoch}.${sequence}`,
    append<Name extends LiveEventName>(name: Name, topic: Topic, data: LiveEvents[Name]): JournalEntry {
      sequence += 1;
      const entry = { sequence, topic, bytes: formatEvent(name, topic, data, `${epoch}.${sequence}`) };
      entries.push(entry);
      bytes += entry.bytes.length;
      trim();
      return entry;
    },
    /** Returns a new sequence without an event: what happened before it cannot be taken for what happened after it. */
    mark(): number {
      sequence += 1;
      return sequence;
    },
    /** The sequence of a position of this process; undefined for one of another process, or one that does not exist yet. */
    sequenceOf(position: Position): number | undefined {
      const dot = position.lastIndexOf(".");
      const number = Number(position.slice(dot + 1));
      return position.slice(0, dot) === epoch && number <= sequence ? number : undefined;
    },
    /** The events after a sequence; undefined if some of them are no longer kept. */
    after(earlier: number): readonly JournalEntry[] | undefined {
      if (earlier < dropped) return undefined;
      return entries.slice(first).filter((entry) => entry.sequence > earlier);
    },
  };
}

/** One server-sent event. JSON has no line breaks, so that its data is one line. */
export function formatEvent<Name extends LiveEventName>(
  name: Name,
  topic: Topic | null,
  data: LiveEvents[Name],
  id?: Position,
): Buffer {
  const head = id === undefined ? "" : `id: ${id}\n`;
  return Buffer.from(`${head}event: ${name}\ndata: ${JSON.stringify({ topic, data })}\n\n`);
}
