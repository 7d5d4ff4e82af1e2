import { randomBytes } from "node:crypto";
import type { LiveEventName, LiveEvents, Topic } from "../contract/events.ts";
import type { Position } from "../contract/position.ts";

export interface JournalEntry {
  readonly sequence: number;
  readonly topic: Topic;
  /** The event, serialised for all pages. */
  readonly bytes: Buffer;
}

export interface JournalLimits {
  readonly maxEvents: number;
  readonly maxBytes: number;
}

export const JOURNAL_LIMITS: JournalLimits = { maxEvents: 10_000, maxBytes: 8 * 1024 * 1024 };

/** The latest events of this process, each serialised once. The epoch distinguishes its positions from those of other processes. */
export function createJournal({ maxEvents, maxBytes }: JournalLimits = JOURNAL_LIMITS) {
  const epoch = randomBytes(6).toString("base64url");
  let entries: JournalEntry[] = [];
  let first = 0; // entries before this index are dropped; when they are half of the array, it is cut
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
    /** Returns a new sequence number without an event, to separate earlier from later events. */
    mark(): number {
      sequence += 1;
      return sequence;
    },
    /** The sequence number of a position; undefined if it is of another process or does not exist yet. */
    sequenceOf(position: Position): number | undefined {
      const dot = position.lastIndexOf(".");
      const number = Number(position.slice(dot + 1));
      return position.slice(0, dot) === epoch && number <= sequence ? number : undefined;
    },
    /** The events after a sequence number; undefined if some of them are no longer stored. */
    after(earlier: number): readonly JournalEntry[] | undefined {
      if (earlier < dropped) return undefined;
      return entries.slice(first).filter((entry) => entry.sequence > earlier);
    },
  };
}

/** Formats one server-sent event. JSON has no line breaks, so the data is one line. */
export function formatEvent<Name extends LiveEventName>(
  name: Name,
  topic: Topic | null,
  data: LiveEvents[Name],
  id?: Position,
): Buffer {
  const head = id === undefined ? "" : `id: ${id}\n`;
  return Buffer.from(`${head}event: ${name}\ndata: ${JSON.stringify({ topic, data })}\n\n`);
}
