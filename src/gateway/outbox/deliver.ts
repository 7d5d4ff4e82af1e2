import type { Clock } from "../../lib/time/clock.ts";
import { openDeadline } from "../../lib/time/deadline.ts";
import type { WakeFlag } from "../../lib/time/wake-flag.ts";
import type { ChatAddress, Connection, OutboundPart, SendResult } from "../platform.ts";
import type { Outbox, OutboxEntry } from "./outbox.ts";

export interface DeliveryParts {
  readonly outbox: Outbox;
  readonly platform: string;
  readonly clock: Clock;
  /** Touched when a part was added. */
  readonly partAdded: WakeFlag;
  /** Whether messages of this platform can be edited. */
  readonly canEdit: boolean;
  /** The service refuses requests for a chat for a while. */
  onQuiet(chat: ChatAddress, forMs: number): void;
}

/** How long one attempt may take. */
const SEND_WITHIN_MS = 60_000;
const CHATS_AT_ONCE = 8;
const FIRST_RETRY_MS = 2_000;
const LONGEST_RETRY_MS = 300_000;
/** A part that could not be sent for this long is given up. */
const KEEP_TRYING_MS = 3 * 24 * 3_600_000;
/** A clock that jumps, as on a machine without a battery, must not be the only reason to give a part up. */
const MIN_ATTEMPTS = 20;
/** How often a part is sent while it is unknown whether it has arrived. */
const MAX_UNCERTAIN = 3;
const MARK = "(This may be a repetition.)";

/** Sends the parts of one platform on one connection until the signal aborts. Only one process may do that at a time. */
export async function deliver(
  parts: DeliveryParts,
  connection: Connection,
  signal: AbortSignal,
): Promise<void> {
  const { outbox, platform, clock, partAdded } = parts;
  const busy = new Map<number, Promise<void>>();
  while (!signal.aborted) {
    for (const entry of outbox.due(platform, CHATS_AT_ONCE + busy.size)) {
      if (busy.has(entry.key) || busy.size >= CHATS_AT_ONCE) continue;
      const attempted = attempt(parts, connection, entry, signal).finally(() => {
        busy.delete(entry.key);
        partAdded.touch(); // the next part of its chat is due now
      });
      busy.set(entry.key, attempted);
    }
    const nextAt = outbox.nextDueAt(platform);
    const wait = new AbortController();
    const waiting = AbortSignal.any([signal, wait.signal]);
    const events = [partAdded.next(waiting), ...busy.values()];
    if (nextAt !== undefined && nextAt > clock.now()) events.push(clock.sleep(nextAt - clock.now(), waiting));
    try {
      await Promise.race(events);
    } catch (error) {
      if (!signal.aborted) throw error;
    } finally {
      wait.abort();
    }
  }
  await Promise.all(busy.values());
}

async function attempt(
  parts: DeliveryParts,
  connection: Connection,
  entry: OutboxEntry,
  signal: AbortSignal,
): Promise<void> {
  const { outbox, clock } = parts;
  const recordSignal = new AbortController().signal; // results are recorded even while the gateway stops
  using deadline = openDeadline(signal, SEND_WITHIN_MS);
  if (entry.messageId !== undefined) return await edit(entry.messageId);
  if (entry.state === "uncertain") {
    const found = await connection.findSent(entry.part, deadline.signal);
    if (found === undefined) {
      const later = { reason: entry.reason ?? "the service could not be asked", inMs: FIRST_RETRY_MS };
      return outbox.postpone(entry.key, "uncertain", later, recordSignal);
    }
    if (found.certainty === "sent")
      return outbox.end(entry.key, "sent", { messageId: found.messageId }, recordSignal);
    if (found.certainty === "unknown" && entry.attempts >= MAX_UNCERTAIN)
      return outbox.end(
        entry.key,
        "failed",
        { reason: `it may have arrived: ${found.reason}` },
        recordSignal,
      );
    return outbox.postpone(
      entry.key,
      "pending",
      { reason: found.reason, inMs: 0, isMarked: found.certainty === "unknown" },
      recordSignal,
    );
  }
  // The attempt may have to wait for space on the disk, and the connection may end meanwhile.
  const hasBegun = await outbox.begin(entry.key, signal).catch((error: unknown) => {
    if (signal.aborted) return false;
    throw error;
  });
  if (!hasBegun) return;
  const result = await connection.send(entry.isMarked ? mark(entry.part) : entry.part, deadline.signal);
  await record(result);

  /** Repeating an edit does no harm, so it does not matter whether an earlier attempt succeeded. */
  async function edit(messageId: string): Promise<void> {
    const { chat, content } = entry.part;
    if (!parts.canEdit || content.type !== "text")
      return outbox.sendAgain(entry.key, "it cannot be edited here", recordSignal);
    if (signal.aborted || !(await outbox.begin(entry.key, recordSignal))) return;
    const edited = await connection.act(
      { type: "edit", chat, messageId, text: content.text },
      deadline.signal,
    );
    if (edited.ok) return outbox.end(entry.key, "sent", { messageId }, recordSignal);
    if (edited.isFinal)
      return outbox.sendAgain(entry.key, "its message cannot be edited any more", recordSignal);
    const inMs = retryIn(edited.retryAfterMs);
    return outbox.postpone(entry.key, "pending", { reason: "it could not be edited", inMs }, recordSignal);
  }

  function retryIn(retryAfterMs: number | undefined): number {
    if (retryAfterMs !== undefined) parts.onQuiet(entry.part.chat, retryAfterMs);
    return retryAfterMs ?? Math.min(FIRST_RETRY_MS * 2 ** Math.min(entry.attempts, 20), LONGEST_RETRY_MS);
  }

  function record(of: SendResult): Promise<void> {
    switch (of.certainty) {
      case "sent":
        return outbox.end(entry.key, "sent", { messageId: of.messageId }, recordSignal);
      case "unknown":
        return outbox.postpone(entry.key, "uncertain", { reason: of.reason, inMs: 0 }, recordSignal);
      case "not-sent": {
        const isOld = entry.attempts >= MIN_ATTEMPTS && clock.now() - entry.part.createdAt > KEEP_TRYING_MS;
        if (of.isFinal || isOld) return outbox.end(entry.key, "failed", { reason: of.reason }, recordSignal);
        return outbox.postpone(
          entry.key,
          "pending",
          { reason: of.reason, inMs: retryIn(of.retryAfterMs) },
          recordSignal,
        );
      }
    }
  }
}

/** Adds the visible remark that the text may be a repetition. */
function mark(part: OutboundPart): OutboundPart {
  const { content } = part;
  if (content.type === "text") return { ...part, content: { ...content, text: `${MARK} ${content.text}` } };
  return { ...part, content: { ...content, caption: [MARK, content.caption].filter(Boolean).join(" ") } };
}
