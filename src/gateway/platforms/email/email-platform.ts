import { messageOf } from "../../../lib/errors.ts";
import { type OutboundPart, type Platform, PlatformFailure, type SendResult } from "../../platform.ts";
import type { PlatformParts } from "../platform-parts.ts";
import { composeMail, type MailThread, mailIdOf } from "./compose-mail.ts";
import { type MailServers, prepareMailServers } from "./mail-servers.ts";
import type { EmailOptions } from "./options.ts";
import { formatPosition, openInbox, type Position, parsePosition, receiveMail } from "./receive-mail.ts";
import {
  confirmCopy,
  countRecentReplies,
  dropCopy,
  findSentCopy,
  findSentFolder,
  findThread,
  prepareCopy,
} from "./sent-mail.ts";

const MAX_TEXT_LENGTH = 50_000;
/** Most servers take 25 MB, of which the encoding of a file needs a third. */
const MAX_FILE_BYTES = 15 * 1024 * 1024;

export function open(options: EmailOptions, parts: PlatformParts): Platform {
  /** The end of the inbox when this process first opened it; earlier mail is not answered. */
  let beginning: Position | undefined;
  return {
    account: options.address,
    capabilities: {
      maxTextLength: MAX_TEXT_LENGTH,
      textUnit: "code-points",
      markdown: "none",
      hasButtons: false,
      maxFileBytes: MAX_FILE_BYTES,
      actions: [],
      silenceLimitMs: options.poll_interval * 1_000 + 120_000,
      answersStrangers: false,
    },
    async connect(sink, signal) {
      signal.throwIfAborted();
      const servers = await prepareMailServers(options, parts);
      const mailbox = await servers.openMailbox(signal);
      const stop = new AbortController();
      const abort = (): void => mailbox[Symbol.dispose]();
      signal.addEventListener("abort", abort, { once: true });
      try {
        const { imap } = mailbox;
        const end = await openInbox(imap, parts.clock.now());
        beginning ??= end;
        const stored = parsePosition(sink.cursor);
        if (stored === undefined) await sink.store([], formatPosition(beginning)).catch(() => undefined); // repeated with the first mail
        await servers.checkSubmission(signal);
        sink.alive();
        const from = stored ?? beginning;
        const receiving = receiveMail({ imap, options, parts, sink, startPosition: from }, stop.signal);
        let isOpen = true;
        const ended = Promise.race([receiving, mailbox.closed]).then((failure) => {
          isOpen = false;
          stop.abort();
          mailbox[Symbol.dispose]();
          return failure;
        });
        return {
          ended,
          async send(part, within) {
            if (!isOpen || within.aborted) return notSent("the connection has ended");
            return await sendPart(part, { options, parts, servers }, AbortSignal.any([within, stop.signal]));
          },
          async findSent(part, within) {
            if (!isOpen) return undefined;
            return await findPart(part, { options, servers }, AbortSignal.any([within, stop.signal]));
          },
          act: async () => ({ ok: false }),
          async [Symbol.asyncDispose]() {
            isOpen = false;
            stop.abort();
            mailbox[Symbol.dispose]();
            await receiving;
          },
        };
      } catch (error) {
        stop.abort();
        mailbox[Symbol.dispose]();
        signal.throwIfAborted();
        if (error instanceof PlatformFailure) throw error;
        throw new PlatformFailure("unreachable", `${options.imap_host}: ${messageOf(error)}`);
      } finally {
        signal.removeEventListener("abort", abort);
      }
    },
  };
}

interface SendingParts {
  readonly options: EmailOptions;
  readonly parts: PlatformParts;
  readonly servers: MailServers;
}

async function sendPart(
  part: OutboundPart,
  { options, parts, servers }: SendingParts,
  signal: AbortSignal,
): Promise<SendResult> {
  const { address, save_sent: keepsCopy, max_thread_replies_per_hour: budget } = options;
  const { chatId: to, threadId } = part.chat;
  const mailId = mailIdOf(part, address);
  try {
    using mailbox = await servers.openMailbox(signal);
    const { imap } = mailbox;
    const folder = await findSentFolder(imap);
    const now = parts.clock.now();
    if (threadId !== undefined && (await countRecentReplies(imap, folder, { root: threadId, now })) >= budget)
      return notSent(`this thread has got ${budget} mails from us within an hour`, true);
    const answered = part.repliesTo ?? threadId;
    const found = answered === undefined ? undefined : await findThread(imap, answered);
    const source = await composeMail(part, address, withRoot(found, threadId));
    if (keepsCopy) await prepareCopy(imap, folder, source, mailId);
    const result = await servers.submit({ to, source }, signal);
    if (keepsCopy && result.certainty !== "unknown")
      await (result.certainty === "sent" ? confirmCopy : dropCopy)(imap, folder, mailId).catch(
        (error: unknown) =>
          parts.log.warn("the copy of a mail could not be updated", { error: messageOf(error) }),
      );
    return result.certainty === "sent" ? { ...result, messageId: mailId } : result;
  } catch (error) {
    return notSent(messageOf(error)); // nothing before `submit` hands the mail over, and `submit` does not reject
  }
}

async function findPart(
  part: OutboundPart,
  { options, servers }: Omit<SendingParts, "parts">,
  signal: AbortSignal,
): Promise<SendResult | undefined> {
  try {
    using mailbox = await servers.openMailbox(signal);
    const { imap } = mailbox;
    const mailId = mailIdOf(part, options.address);
    return await findSentCopy(imap, await findSentFolder(imap), { mailId, isOurs: options.save_sent });
  } catch {
    return undefined;
  }
}

/** Puts the root of the thread first, even if the answered mail no longer exists. */
function withRoot(found: MailThread | undefined, root: string | undefined): MailThread {
  const references = found?.references ?? [];
  if (root === undefined || references[0] === root) return { references, subject: found?.subject };
  return { references: [root, ...references], subject: found?.subject ?? "your message" };
}

function notSent(reason: string, isFinal = false): SendResult {
  return { certainty: "not-sent", reason, isFinal };
}
