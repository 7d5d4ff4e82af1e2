/** A slash command of a message. */
export interface ChatCommand {
  readonly name: string;
  readonly rest: string;
}

/** `/stop`, `/Stop@our_bot now`. A path such as `/etc/hosts` is none; dashes that a phone has joined are put back. */
export function parseChatCommand(text: string): ChatCommand | undefined {
  const match = /^\/(?<name>[a-z][\w-]*)(?:@\S+)?(?:\s+(?<rest>.*))?$/is.exec(text.trim());
  const { name, rest = "" } = match?.groups ?? {};
  if (name === undefined) return undefined;
  return { name: name.toLowerCase().replaceAll("_", "-"), rest: rest.replaceAll("—", "--").trim() };
}

const QUEUED = /^\/queue(?:@\S+)?\s+(?=\S)/i;

/** Whether a message is `/queue TEXT`: its text waits for a turn of its own. */
export function isQueued(text: string): boolean {
  return QUEUED.test(text);
}

export function withoutQueue(text: string): string {
  return text.replace(QUEUED, "");
}
