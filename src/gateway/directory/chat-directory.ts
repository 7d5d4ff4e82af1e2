import { AppError } from "../../lib/errors.ts";
import type { Database } from "../../lib/sqlite/database.ts";
import { findClosest } from "../../lib/text/did-you-mean.ts";
import type { Target } from "../platform.ts";

/** A chat that messages can be sent to. */
export interface KnownChat {
  readonly target: Target;
  readonly name: string;
  readonly type: string;
  /** When a message was last written in it. */
  readonly usedAt: number;
}

export interface DirectoryRules {
  /** The home channel of each platform that this gateway runs; empty if none is set. */
  readonly homes: ReadonlyMap<string, string>;
  /** Names that the user has given to targets, as `team: irc:#team`. */
  readonly aliases: Readonly<Record<string, string>>;
}

interface KnownRow {
  readonly key: string;
  readonly platform: string;
  readonly chat_id: string;
  readonly thread_id: string | null;
  readonly label: string;
  readonly used_at: number;
}

/** The chats in which people have written, and the chat that a text names. */
export function createChatDirectory(database: Database) {
  // The table has a row for each person of a group; the group is listed once.
  const all = database.prepare<KnownRow>(`
    select key, platform, chat_id, thread_id, label, max(used_at) as used_at from chat
     group by platform, chat_id, thread_id order by used_at desc limit 1000`);

  const list = (): readonly KnownChat[] =>
    all.all().map(({ key, platform, chat_id: chatId, thread_id: threadId, label, used_at: usedAt }) => ({
      target: { platform, chatId, threadId: threadId ?? undefined },
      name: label,
      type: key.split(":")[2] ?? "",
      usedAt,
    }));

  /** Finds the chat that a text names: an alias, a platform for its home channel, or `PLATFORM:CHAT`, by name or id. */
  function resolve(text: string, { homes, aliases }: DirectoryRules): Target {
    const alias = Object.entries(aliases).find(([name]) => isSameName(name, text));
    const [platform = "", rest] = (alias?.[1] ?? text).split(/:(.*)/s);
    const home = homes.get(platform);
    if (home === undefined) throw unknownTarget(text, platform, homes, aliases);
    if (rest === undefined || rest === "") {
      if (home !== "") return { platform, chatId: home };
      throw new AppError("target-unknown", `${platform} has no home channel.`, {
        hint: `Set platforms.${platform}.home_channel, or name a chat: \`hermes send --list\`.`,
      });
    }
    const known = list().filter(({ target }) => target.platform === platform);
    const byId = known.find(({ target }) => target.chatId === rest && target.threadId === undefined);
    if (byId !== undefined) return byId.target;
    const named = known.filter(({ name }) => isSameName(name, rest));
    if (named.length > 1)
      throw new AppError("target-unknown", `${named.length} chats on ${platform} are called ${rest}.`, {
        hint: `Use an id: ${named.map(({ target }) => formatTarget(target)).join(", ")}.`,
      });
    const [only] = named;
    if (only !== undefined) return only.target;
    const thread = known.find(({ target }) => formatTarget(target) === `${platform}:${rest}`);
    return thread?.target ?? { platform, chatId: rest };
  }

  return { list, resolve };
}

/** The text that names a chat: `PLATFORM:CHAT` or `PLATFORM:CHAT:THREAD`. */
export function formatTarget({ platform, chatId, threadId }: Target): string {
  return [platform, chatId, ...(threadId === undefined ? [] : [threadId])].join(":");
}

function isSameName(one: string, other: string): boolean {
  const normaliseName = (name: string): string => name.trim().replace(/^#/, "").toLowerCase();
  return normaliseName(one) === normaliseName(other);
}

function unknownTarget(
  text: string,
  platform: string,
  homes: ReadonlyMap<string, string>,
  aliases: Readonly<Record<string, string>>,
): AppError {
  const names = [...homes.keys(), ...Object.keys(aliases)];
  const near = findClosest(
    platform,
    names.filter((name) => name !== platform),
  );
  return new AppError("target-unknown", `${text} names no chat: there is no platform or alias ${platform}.`, {
    hint:
      near === undefined
        ? `Platforms that are configured: ${names.length === 0 ? "none" : names.join(", ")}. Chats: \`hermes send --list\`.`
        : `Did you mean ${near}?`,
  });
}
