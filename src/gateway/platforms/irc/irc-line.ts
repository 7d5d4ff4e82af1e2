/** One line of the protocol, taken apart. */
export interface IrcLine {
  readonly tags: ReadonlyMap<string, string>;
  /** Nickname of the sender, or the name of the server. */
  readonly from: string;
  /** A word such as PRIVMSG, or three digits. */
  readonly command: string;
  readonly parameters: readonly string[];
}

const LINE =
  /^(?:@(?<tags>[^ ]+) +)?(?::(?<from>[^ !@]+)[^ ]* +)?(?<command>[A-Za-z]+|\d{3})(?<rest>(?: .*)?)$/s;
const UNESCAPED: Readonly<Record<string, string>> = { ":": ";", s: " ", "\\": "\\", r: "\r", n: "\n" };

/** Parses one line; undefined for text that is not a line of the protocol. */
export function parseIrcLine(line: string): IrcLine | undefined {
  const groups = LINE.exec(line)?.groups;
  if (groups === undefined) return undefined;
  const { tags = "", from = "", command = "", rest = "" } = groups;
  const trailing = rest.indexOf(" :");
  const middle = trailing === -1 ? rest : rest.slice(0, trailing);
  const parameters = middle.split(" ").filter((word) => word !== "");
  if (trailing !== -1) parameters.push(rest.slice(trailing + 2));
  return { tags: parseTags(tags), from, command: command.toUpperCase(), parameters };
}

function parseTags(text: string): ReadonlyMap<string, string> {
  const pairs = text.split(";").filter((pair) => pair !== "");
  return new Map(
    pairs.map((pair): [string, string] => {
      const [name = "", value = ""] = pair.split(/=(.*)/s);
      return [name, value.replace(/\\(.?)/gs, (_, letter: string) => UNESCAPED[letter] ?? letter)];
    }),
  );
}

/** Removes the codes that clients use for colours and styles. */
export function stripFormatting(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are the codes
  return text.replace(/\x03(?:\d{1,2}(?:,\d{1,2})?)?|\x04[\dA-Fa-f]{6}|[\x02\x0f\x11\x16\x1d\x1e\x1f]/g, "");
}

/** Nicknames and channels are compared without case; four of the letters have old Scandinavian capitals. */
export function foldName(name: string): string {
  return name
    .toLowerCase()
    .replaceAll("[", "{")
    .replaceAll("]", "}")
    .replaceAll("\\", "|")
    .replaceAll("~", "^");
}

const isChannel = (name: string): boolean => /^[#&+!]/.test(name);

/** A message of a person, as the gateway reads it. */
export interface IrcMessage {
  readonly chatId: string;
  readonly isDirect: boolean;
  readonly nick: string;
  /** The account that the server has checked, if it has accounts. */
  readonly account: string | undefined;
  readonly isBot: boolean;
  readonly text: string;
  readonly isAddressed: boolean;
  readonly id: string | undefined;
  readonly sentAt: number | undefined;
}

/** Reads the message of a person from a line; undefined for any other line. */
export function readIrcMessage(
  { tags, from, command, parameters }: IrcLine,
  ownNick: string,
): IrcMessage | undefined {
  const [target = "", raw = ""] = parameters;
  if (command !== "PRIVMSG" || from === "" || foldName(from) === foldName(ownNick)) return undefined; // a NOTICE is never answered
  const question = raw.startsWith("\u0001") ? raw.replaceAll("\u0001", "") : undefined;
  if (question?.startsWith("ACTION ") === false) return undefined; // meant for the client, such as VERSION
  const spoken = stripFormatting(
    question === undefined ? raw : `* ${from} ${question.slice("ACTION ".length)}`,
  ).trim();
  if (spoken === "") return undefined;
  const isDirect = !isChannel(target);
  const { isAddressed, text } = isDirect ? { isAddressed: true, text: spoken } : readMention(spoken, ownNick);
  const time = Date.parse(tags.get("time") ?? "");
  return {
    chatId: foldName(isDirect ? from : target),
    isDirect,
    nick: from,
    account: tags.get("account"),
    isBot: tags.has("bot") || tags.has("draft/bot"),
    text,
    isAddressed,
    id: tags.get("msgid"),
    sentAt: Number.isNaN(time) ? undefined : time,
  };
}

/** `bot: do this` is addressed to the bot and means "do this"; a name in the middle is kept. */
function readMention(text: string, ownNick: string): { isAddressed: boolean; text: string } {
  const words = foldName(text);
  const nick = foldName(ownNick);
  const after = words.startsWith(nick) ? /^[\s:,]+/.exec(text.slice(nick.length)) : null;
  if (after !== null) return { isAddressed: true, text: text.slice(nick.length + after[0].length) };
  return { isAddressed: words.split(/[^\w{}|^`-]+/).includes(nick), text };
}
