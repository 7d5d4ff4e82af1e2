import { randomBytes } from "node:crypto";
import { open, rm } from "node:fs/promises";
import { join } from "node:path";
import { createFolder, ensurePrivateFolder, syncFolder } from "../../lib/files/files.ts";
import type { InboundAttachment, InboundMessage } from "../platform.ts";

/** A message as it is stored: its files are in the profile's cache. */
export type StoredMessage = Omit<InboundMessage, "attachments"> & {
  readonly attachments?: readonly StoredAttachment[] | undefined;
};

type StoredAttachment = { readonly name: string; readonly mediaType: string } & (
  | { readonly path: string }
  | { readonly problem: string }
);

const MAX_TEXT_LENGTH = 200_000;
const MAX_NAME_LENGTH = 80;

/** Writes the files of a message into a folder of their own, and returns the message that refers to them. A failure leaves none. */
export async function storeFiles(
  { attachments, ...message }: InboundMessage,
  cache: string,
): Promise<StoredMessage> {
  const text =
    message.text.length > MAX_TEXT_LENGTH ? `${message.text.slice(0, MAX_TEXT_LENGTH)} […]` : message.text;
  if (attachments === undefined || attachments.length === 0) return { ...message, text };
  const folder = join(cache, randomBytes(6).toString("hex"));
  await ensurePrivateFolder(cache);
  await createFolder(folder);
  try {
    return { ...message, text, attachments: await keepFiles(attachments, folder) };
  } catch (error) {
    await rm(folder, { recursive: true, force: true });
    throw error;
  }
}

async function keepFiles(
  attachments: readonly InboundAttachment[],
  folder: string,
): Promise<readonly StoredAttachment[]> {
  const kept: StoredAttachment[] = [];
  for (const [index, one] of attachments.entries()) {
    const { name, mediaType } = one;
    if ("problem" in one) {
      kept.push({ name, mediaType, problem: one.problem });
      continue;
    }
    const path = join(folder, `${index}-${safeName(name)}`);
    await using file = await open(path, "wx", 0o600);
    await file.writeFile(one.content);
    await file.sync(); // the service forgets the file once we acknowledge its message
    kept.push({ name, mediaType, path });
  }
  await syncFolder(folder);
  return kept;
}

/** Only plain characters, no folder and no hidden name, whatever the sender called the file. */
export function safeName(name: string): string {
  const plain = name
    .normalize("NFKC")
    .replace(/^.*[/\\]/s, "")
    .replace(/[^\p{L}\p{N}._-]+/gu, "_")
    .replace(/^\.+/, "");
  if (plain.length <= MAX_NAME_LENGTH) return plain === "" ? "file" : plain;
  const ending = /\.[^.]{1,10}$/.exec(plain)?.[0] ?? "";
  return `${plain.slice(0, MAX_NAME_LENGTH - ending.length)}${ending}`;
}
