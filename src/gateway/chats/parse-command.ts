/** A slash command of a message. */
export interface ChatCommand {
  readonly name: string;
  readonly rest: string;
}

/** Parses `/stop` or `/Stop@our_bot now`. `/etc/hosts` is not a command. Phones replace `--` with a long dash; it is read as `--`. */
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
