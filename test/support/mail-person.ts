import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { createTransport } from "nodemailer";
import PostalMime, { type Email } from "postal-mime";
import { expect } from "vitest";
import { unlessMissing } from "../../src/lib/files/unless-missing.ts";
import type { RunningPart } from "./services.ts";

export interface WrittenMail {
  readonly to: string;
  readonly text?: string;
  readonly subject?: string;
  /** Another sender than the person's own address. */
  readonly from?: string;
  readonly messageId?: string;
  readonly inReplyTo?: string;
  readonly references?: readonly string[];
  readonly headers?: Readonly<Record<string, string>>;
  readonly html?: string;
  readonly attachments?: readonly {
    filename: string;
    content: string | Buffer;
    contentType?: string;
    cid?: string;
  }[];
  /** False leaves the signature out. */
  readonly isSigned?: boolean;
}

/** A person with a mailbox on the server of the tests. The mails are read from the server's folders, not with a protocol. */
export interface MailPerson {
  readonly address: string;
  /** Resolves with the id of the mail when the server has delivered it. */
  write(mail: WrittenMail): Promise<string>;
  /** The mails in the inbox by the time they arrived, once there are at least `count`. */
  received(count: number): Promise<readonly Email[]>;
}

export async function openMailPerson(server: RunningPart<"mail">, address: string): Promise<MailPerson> {
  const domainName = address.slice(address.indexOf("@") + 1);
  const transport = createTransport({ host: server.host, port: server.smtpPort, ignoreTLS: true });
  const privateKey = await readFile(server.signingKeyFile, "utf8");
  return {
    address,
    async write({ isSigned = true, from = address, subject = "", references, attachments = [], ...mail }) {
      const { messageId } = await transport.sendMail({
        ...mail,
        ...{ from, subject, attachments: [...attachments] },
        ...(references !== undefined && { references: [...references] }),
        ...(isSigned && { dkim: { domainName, keySelector: "test", privateKey } }),
      });
      // Mails that are delivered side by side overtake each other.
      await expect.poll(() => isDelivered(server, mail.to, messageId)).toBe(true);
      return messageId.replace(/^<|>$/g, "");
    },
    async received(count) {
      await expect.poll(async () => (await listMails(server, address)).length).toBeGreaterThanOrEqual(count);
      const files = await listMails(server, address);
      return await Promise.all(files.map(async (file) => PostalMime.parse(await readFile(file))));
    },
  };
}

async function isDelivered(
  server: RunningPart<"mail">,
  address: string,
  messageId: string,
): Promise<boolean> {
  const files = await listMails(server, address);
  const mails = await Promise.all(files.map((file) => unlessMissing(readFile(file, "utf8"))));
  return mails.some((mail) => mail?.includes(messageId));
}

/** The files of a folder; new ones begin with the time of their delivery. */
export async function listMails(
  server: RunningPart<"mail">,
  address: string,
  folder = "",
): Promise<string[]> {
  const box = join(server.boxes, address, "Maildir", folder);
  const parts = await Promise.all(
    ["new", "cur"].map(async (part) => {
      const names = (await unlessMissing(readdir(join(box, part)))) ?? [];
      return names.map((name) => ({ name, path: join(box, part, name) }));
    }),
  );
  return parts
    .flat()
    .toSorted((one, other) => one.name.localeCompare(other.name, "en", { numeric: true })) // microseconds are not padded
    .map(({ path }) => path);
}

/** An address that no other test uses. */
export function uniqueAddress(word: string, domain: string): string {
  return `${word}-${process.pid.toString(36)}${Math.random().toString(36).slice(2, 8)}@${domain}`;
}
