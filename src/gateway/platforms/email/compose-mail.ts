import { readFile } from "node:fs/promises";
import MailComposer from "nodemailer/lib/mail-composer";
import { shorten } from "../../../lib/text/shorten.ts";
import type { OutboundPart } from "../../platform.ts";

/** The thread that a mail belongs to. */
export interface MailThread {
  /** The ids of the earlier mails, the oldest first. */
  readonly references: readonly string[];
  readonly subject: string | undefined;
}

const MAX_REFERENCES = 10;
const MAX_SUBJECT_LENGTH = 78;

/** The id of the mail for a part: known before it is sent, so that it can be searched for. */
export function mailIdOf({ id }: Pick<OutboundPart, "id">, address: string): string {
  return `${id}.hermes@${address.slice(address.lastIndexOf("@") + 1)}`;
}

/** Whether an id is a Message-ID, not one that we created for a mail without one. */
function isMessageId(id: string): boolean {
  return id.includes("@");
}

/** Writes the mail for a part. Its headers say that a program has written it, so that no other program answers. */
export async function composeMail(
  part: OutboundPart,
  address: string,
  { references, subject }: MailThread,
): Promise<Buffer> {
  const { content, chat, repliesTo } = part;
  const text = content.type === "text" ? content.text : (content.caption ?? "");
  const first = text.trim().replace(/\s+/g, " ") || (content.type === "file" ? content.name : "Message");
  const known = references.filter(isMessageId);
  const kept = [...known.slice(0, 1), ...known.slice(1).slice(1 - MAX_REFERENCES)];
  const parent = repliesTo !== undefined && isMessageId(repliesTo) ? repliesTo : known.at(-1);
  const mail = new MailComposer({
    from: address,
    to: { name: "", address: chat.chatId },
    subject:
      subject === undefined
        ? shorten(first, MAX_SUBJECT_LENGTH)
        : `Re: ${subject.replace(/^(?:re:\s*)+/i, "")}`,
    messageId: `<${mailIdOf(part, address)}>`,
    ...(parent !== undefined && { inReplyTo: `<${parent}>`, references: kept.map((id) => `<${id}>`) }),
    headers: {
      "Auto-Submitted": parent === undefined ? "auto-generated" : "auto-replied",
      "X-Auto-Response-Suppress": "All",
    },
    text,
    ...(content.type === "file" && {
      attachments: [
        { filename: content.name, contentType: content.mediaType, content: await readFile(content.path) },
      ],
    }),
    disableFileAccess: true,
    disableUrlAccess: true,
  });
  return await mail.compile().build();
}
