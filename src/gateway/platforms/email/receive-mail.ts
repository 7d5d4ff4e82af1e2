import type { ImapFlow } from "imapflow";
import { messageOf } from "../../../lib/errors.ts";
import { WakeFlag } from "../../../lib/time/wake-flag.ts";
import { type InboundSink, PlatformFailure } from "../../platform.ts";
import type { PlatformParts } from "../platform-parts.ts";
import type { EmailOptions } from "./options.ts";
import { readMail } from "./read-mail.ts";

/** How much is read of a mail that is too large. */
const HEAD_BYTES = 256 * 1024;
/** The size of a mail relative to its files: base64 adds a third, and the mail also contains text. */
const BASE64_FACTOR = 1.4;
const DAY_MS = 24 * 3_600_000;

/** How far the inbox was read. Mails get ascending numbers, until the server renumbers them and changes `validity`. */
export interface Position {
  readonly validity: string;
  readonly uid: number;
  /** When the latest mail arrived, to continue by date after a renumbering. */
  readonly receivedAt: number;
}

export function formatPosition({ validity, uid, receivedAt }: Position): string {
  return `${validity}:${uid}:${receivedAt}`;
}

export function parsePosition(cursor: string | undefined): Position | undefined {
  const [, validity, uid, receivedAt] = /^(\d+):(\d+):(\d+)$/.exec(cursor ?? "") ?? [];
  return validity === undefined ? undefined : { validity, uid: Number(uid), receivedAt: Number(receivedAt) };
}

/** Opens the inbox and returns where it ends now. */
export async function openInbox(imap: ImapFlow, now: number): Promise<Position> {
  const { uidValidity, uidNext } = await imap.mailboxOpen("INBOX", { readOnly: true });
  return { validity: String(uidValidity), uid: uidNext - 1, receivedAt: now };
}

export interface MailReception {
  readonly imap: ImapFlow;
  readonly options: EmailOptions;
  readonly parts: PlatformParts;
  readonly sink: InboundSink;
  /** Where to continue; its numbers may be from before a renumbering. */
  readonly startPosition: Position;
}

/** Hands over each mail that arrives, until something fails; resolves with the reason. */
export async function receiveMail(
  { imap, options, parts, sink, startPosition }: MailReception,
  signal: AbortSignal,
): Promise<PlatformFailure> {
  const { clock, log } = parts;
  const arrived = new WakeFlag();
  imap.on("exists", () => arrived.touch());
  const validity = imap.mailbox === false ? startPosition.validity : String(imap.mailbox.uidValidity);
  let position = startPosition;
  try {
    for (;;) {
      arrived.reset();
      for (const uid of await listNew(imap, position, validity)) {
        const mail = await fetchMail(imap, { uid, validity }, parts.maxAttachmentBytes);
        if (mail === undefined) continue; // removed in the meantime
        const read = await readMail(mail, options, parts.maxAttachmentBytes, signal);
        if ("skipped" in read) log.info("a mail gets no answer", { uid, reason: read.skipped });
        position = { validity, uid, receivedAt: mail.receivedAt };
        try {
          await sink.store("message" in read ? [read.message] : [], formatPosition(position));
        } catch (error) {
          return new PlatformFailure("not-stored", messageOf(error), { cause: error });
        }
      }
      sink.alive();
      // Lets the server announce new mail; the next command ends it.
      imap.idle().catch(() => undefined);
      await firstOf(
        [(within) => arrived.next(within), (within) => clock.sleep(options.poll_interval * 1_000, within)],
        signal,
      );
    }
  } catch (error) {
    return new PlatformFailure("unreachable", `${options.imap_host}: ${messageOf(error)}`);
  }
}

/** The numbers of the mails after a position; after a renumbering, of all mails since its day, because the inbox ignores known ones. */
async function listNew(imap: ImapFlow, position: Position, validity: string): Promise<readonly number[]> {
  const isSame = position.validity === validity;
  const query = isSame ? { uid: `${position.uid + 1}:*` } : { since: new Date(position.receivedAt - DAY_MS) };
  const found = await imap.search(query, { uid: true });
  if (found === false) throw new Error("the server did not answer a search");
  // A range that begins after the last mail contains the last mail.
  return found.filter((uid) => !isSame || uid > position.uid).toSorted((one, other) => one - other);
}

async function fetchMail(
  imap: ImapFlow,
  { uid, validity }: { readonly uid: number; readonly validity: string },
  maxAttachmentBytes: number,
) {
  const maxBytes = Math.ceil(maxAttachmentBytes * BASE64_FACTOR) + HEAD_BYTES;
  const facts = await imap.fetchOne(String(uid), { size: true, internalDate: true }, { uid: true });
  if (facts === false) return undefined;
  const isCut = (facts.size ?? 0) > maxBytes;
  const source = isCut ? { maxLength: HEAD_BYTES } : true;
  const mail = await imap.fetchOne(String(uid), { source }, { uid: true });
  if (mail === false || mail.source === undefined) return undefined;
  const receivedAt = new Date(facts.internalDate ?? 0).getTime();
  return { key: `uid-${validity}-${uid}`, source: mail.source, isCut, receivedAt };
}

/** Waits for the first of several, and stops the others. */
async function firstOf(
  waits: readonly ((signal: AbortSignal) => Promise<void>)[],
  signal: AbortSignal,
): Promise<void> {
  const done = new AbortController();
  const within = AbortSignal.any([signal, done.signal]);
  const running = waits.map((wait) => wait(within));
  try {
    await Promise.race(running);
  } finally {
    done.abort();
    await Promise.allSettled(running);
  }
}
