import type { ImapFlow } from "imapflow";
import type { SendResult } from "../../platform.ts";
import type { MailThread } from "./compose-mail.ts";
import { messageIds } from "./read-mail.ts";

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/**
 * The folder for sent mail. A copy is stored there before the mail is sent, marked as a draft until the server has accepted
 * the mail. So a copy without the mark proves that the mail was sent, and a missing copy that it was not.
 */
export async function findSentFolder(imap: ImapFlow): Promise<string> {
  const folders = await imap.list();
  const found = folders.find(({ specialUse }) => specialUse === "\\Sent");
  if (found !== undefined) return found.path;
  await imap.mailboxCreate("Sent");
  return "Sent";
}

/** Stores the copy of a mail that is about to be sent, in place of one that an earlier attempt has left. */
export async function prepareCopy(
  imap: ImapFlow,
  folder: string,
  source: Buffer,
  mailId: string,
): Promise<void> {
  await dropCopy(imap, folder, mailId);
  await imap.append(folder, source, ["\\Draft", "\\Seen"]);
}

export async function confirmCopy(imap: ImapFlow, folder: string, mailId: string): Promise<void> {
  await inFolder(imap, folder, async () => {
    const uids = await findCopies(imap, mailId);
    if (uids.length > 0) await imap.messageFlagsRemove(uids, ["\\Draft"], { uid: true });
  });
}

export async function dropCopy(imap: ImapFlow, folder: string, mailId: string): Promise<void> {
  await inFolder(imap, folder, async () => {
    const uids = await findCopies(imap, mailId);
    if (uids.length > 0) await imap.messageDelete(uids, { uid: true });
  });
}

/** What the copies prove about a mail. `isOurs` is false where the server stores them, after it has taken the mail. */
export async function findSentCopy(
  imap: ImapFlow,
  folder: string,
  { mailId, isOurs }: { readonly mailId: string; readonly isOurs: boolean },
): Promise<SendResult> {
  return await inFolder(imap, folder, async () => {
    const [uid] = await findCopies(imap, mailId);
    if (uid === undefined)
      return isOurs
        ? { certainty: "not-sent", reason: "it was not handed over", isFinal: false }
        : { certainty: "unknown", reason: "the server has not stored it as sent" };
    const found = await imap.fetchOne(String(uid), { flags: true }, { uid: true });
    if (found !== false && found.flags?.has("\\Draft"))
      return { certainty: "unknown", reason: "it was about to be handed over" };
    return { certainty: "sent", messageId: mailId };
  });
}

/** How many mails of a thread we have sent within the last hour. */
export async function countRecentReplies(
  imap: ImapFlow,
  folder: string,
  { root, now }: { readonly root: string; readonly now: number },
): Promise<number> {
  return await inFolder(imap, folder, async () => {
    // IMAP searches by day, and the server may be in another time zone.
    const since = new Date(now - DAY_MS);
    const uids = await imap.search(
      { header: { references: `<${root}>` }, since, draft: false },
      { uid: true },
    );
    if (uids === false || uids.length === 0) return 0;
    const mails = await imap.fetchAll(uids, { internalDate: true }, { uid: true });
    return mails.filter(({ internalDate }) => new Date(internalDate ?? 0).getTime() > now - HOUR_MS).length;
  });
}

/** The thread of a mail that we have received, as its own headers describe it. */
export async function findThread(imap: ImapFlow, mailId: string): Promise<MailThread | undefined> {
  return await inFolder(imap, "INBOX", async () => {
    const [uid] = await findCopies(imap, mailId);
    if (uid === undefined) return undefined;
    const mail = await imap.fetchOne(String(uid), { envelope: true, headers: ["references"] }, { uid: true });
    if (mail === false) return undefined;
    const earlier = messageIds(mail.headers?.toString("latin1").replace(/\r?\n[ \t]+/g, " "));
    return { references: [...earlier, mailId], subject: mail.envelope?.subject };
  });
}

async function findCopies(imap: ImapFlow, mailId: string): Promise<number[]> {
  const uids = await imap.search({ header: { "message-id": `<${mailId}>` } }, { uid: true });
  return uids === false ? [] : uids;
}

async function inFolder<Result>(
  imap: ImapFlow,
  folder: string,
  work: () => Promise<Result>,
): Promise<Result> {
  const lock = await imap.getMailboxLock(folder);
  try {
    return await work();
  } finally {
    lock.release();
  }
}
