import { readImage } from "../../providers/image.ts";
import type { ImagePart } from "../../providers/message.ts";
import type { ReceivedFile, TurnMessage } from "../../turns/turn-host.ts";
import type { InboxEntry } from "../inbox/inbox.ts";
import type { StoredMessage } from "../inbox/stored-message.ts";

import { withoutQueue } from "./parse-command.ts";

const MAX_NAME_LENGTH = 240;

/** The message of a turn that continues one which a crash has cut off. `notes` were written while that one ran. */
export function continueMessage(notes: readonly string[]): TurnMessage {
  const text =
    "[The gateway was restarted while you were working on the message above. Continue with it, and do not repeat what is already done. Check the outcome of calls that were interrupted before you run them again.]";
  return { text, notes };
}

/** What the model gets for the messages that waited: one text, and the files. */
export async function composeMessage(
  entries: readonly InboxEntry[],
  isShared: boolean,
): Promise<TurnMessage> {
  const images: ImagePart[] = [];
  const notes: string[] = [];
  const files: ReceivedFile[] = [];
  for (const { message } of entries)
    for (const one of message.attachments ?? []) {
      if ("problem" in one) {
        notes.push(`[The file ${quote(one.name)} could not be received: ${one.problem}]`);
        continue;
      }
      const image = one.mediaType.startsWith("image/") ? await readImage(one.path) : undefined;
      if (image !== undefined && !("problem" in image)) images.push(image);
      else files.push({ path: one.path, description: `${quote(one.name)} (${quote(one.mediaType)})` });
    }
  return {
    text: entries
      .map(({ message }) => lineOf(message, isShared || message.handling === "context"))
      .join("\n"),
    images,
    files,
    notes,
  };
}

function lineOf({ text, sender, repliesTo }: StoredMessage, isNamed: boolean): string {
  const quoted = repliesTo?.text === undefined ? "" : `[In reply to: ${quote(repliesTo.text)}]\n`;
  return `${quoted}${isNamed ? `${quote(sender.name ?? sender.id)}: ` : ""}${withoutQueue(text)}`;
}

/** Names and topics come from strangers: one short line. */
function quote(text: string): string {
  return text.replace(/\s+/g, " ").trim().slice(0, MAX_NAME_LENGTH);
}
