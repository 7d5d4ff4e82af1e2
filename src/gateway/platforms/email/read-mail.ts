import { createHash } from "node:crypto";
import PostalMime, { type Attachment, type Email } from "postal-mime";
import { readDocument } from "../../../lib/documents/read-document.ts";
import { shorten } from "../../../lib/text/shorten.ts";
import type { InboundAttachment, InboundMessage } from "../../platform.ts";
import { isAuthentic } from "./authentication.ts";
import { whyAutomatic } from "./automatic-mail.ts";
import type { EmailOptions } from "./options.ts";
import { stripQuotedText } from "./strip-quoted-text.ts";

/** A mail as the server stores it. */
export interface StoredMail {
  /** Unique in the mailbox; used where the mail has no id of its own. */
  readonly key: string;
  readonly source: Uint8Array;
  /** Whether the source is only the beginning. */
  readonly isCut: boolean;
  /** When the server received it, in milliseconds since 1970. */
  readonly receivedAt: number;
}

export type ReadMail = { readonly message: InboundMessage } | { readonly skipped: string };

const MAX_ATTACHMENTS = 20;
const MAX_ID_LENGTH = 200;
const MAX_HTML_MS = 10_000;
const PARSING = { forceRfc822Attachments: true, maxNestingDepth: 50, maxHeadersSize: 256 * 1024 };

/** Turns a mail into a message, or says why it gets no answer. Rejects only when the signal aborts, never because of the mail. */
export async function readMail(
  mail: StoredMail,
  options: EmailOptions,
  maxAttachmentBytes: number,
  signal: AbortSignal,
): Promise<ReadMail> {
  let email: Email;
  try {
    email = await PostalMime.parse(mail.source, PARSING);
  } catch {
    return { skipped: "it cannot be read" };
  }
  const address = email.from?.address?.toLowerCase() ?? "";
  if (!/^[^\s@<>]+@[^\s@<>]+$/.test(address)) return { skipped: "it has no sender" };
  if (address === options.address) return { skipped: "we have written it" };
  const why = whyAutomatic(email.headers, address);
  if (why !== undefined) return { skipped: why };
  const id = messageIds(email.messageId)[0] ?? mail.key;
  const [parent] = messageIds(email.inReplyTo);
  const root = messageIds(email.references)[0] ?? parent ?? id;
  const subject = shorten((email.subject ?? "").replace(/\s+/g, " ").trim(), 300);
  const words = stripQuotedText(email.text ?? (await textOfHtml(email.html, signal)));
  const isFirst = parent === undefined && subject !== "" && !words.startsWith("/");
  return {
    message: {
      id,
      chat: { chatId: address, threadId: root, type: "dm", name: subject === "" ? undefined : subject },
      sender: {
        id: address,
        name: email.from?.name || address,
        isBot: false,
        isProven: isAuthentic(email.headers, { address, authservId: options.authserv_id }),
      },
      text: isFirst ? `Subject: ${subject}\n\n${words}`.trim() : words,
      sentAt: mail.receivedAt,
      isAddressed: true,
      attachments: options.skip_attachments
        ? []
        : readAttachments(email.attachments, mail, maxAttachmentBytes),
      ...(parent !== undefined && { repliesTo: { id: parent } }),
    },
  };
}

/** The text of an HTML mail; converted in a separate thread, because any stranger may have written the HTML. */
async function textOfHtml(html: string | undefined, signal: AbortSignal): Promise<string> {
  if (html === undefined) return "";
  const limits = { base: "about:blank", maxMs: MAX_HTML_MS };
  const document = await readDocument("web page", Buffer.from(html), limits, signal);
  return "problem" in document ? `[The mail has no plain text, and ${document.problem}]` : document.text;
}

/** The ids in a header, without their angle brackets; very long ones are hashed. */
export function messageIds(text: string | undefined): string[] {
  return [...(text ?? "").matchAll(/<([^<>\s]+)>/g)].map(([, id = ""]) =>
    id.length <= MAX_ID_LENGTH ? id : createHash("sha256").update(id).digest("hex"),
  );
}

function readAttachments(
  attachments: readonly Attachment[],
  { isCut }: StoredMail,
  maxBytes: number,
): readonly InboundAttachment[] {
  // Inline pictures are mostly logos in signatures.
  const files = attachments.filter(
    ({ related, mimeType }) => !(related === true && mimeType.startsWith("image/")),
  );
  return files.map(({ filename, mimeType: mediaType, content }, index): InboundAttachment => {
    const name = filename ?? `attachment-${index + 1}`;
    const bytes = typeof content === "string" ? Buffer.from(content) : new Uint8Array(content);
    if (isCut) return { name, mediaType, problem: "the mail is too large" };
    if (index >= MAX_ATTACHMENTS)
      return { name, mediaType, problem: `the mail has more than ${MAX_ATTACHMENTS} files` };
    if (bytes.length > maxBytes) return { name, mediaType, problem: `it is larger than ${maxBytes} bytes` };
    return { name, mediaType, content: bytes };
  });
}
