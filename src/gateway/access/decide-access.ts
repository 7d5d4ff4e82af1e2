import type { Chat, Sender } from "../platform.ts";
import type { CommonOptions } from "../platforms/common-options.ts";

export interface GlobalAccess {
  readonly allowed_users: readonly string[];
  readonly allow_all_users: boolean;
}

/** `admin` may use every command, `user` those that the settings name. */
export type Tier = "admin" | "user";

export type Access =
  | { readonly isAllowed: true; readonly tier: Tier }
  /** `mayPair`: a direct message from a proven sender, where strangers get a code. */
  | { readonly isAllowed: false; readonly reason: string; readonly mayPair: boolean };

/** Decides whether a sender is answered: only with a list, a pairing or a setting that allows everyone. */
export function decideAccess(
  { chat, sender }: { readonly chat: Chat; readonly sender: Sender },
  {
    options,
    everywhere,
    isPaired,
  }: { readonly options: CommonOptions; readonly everywhere: GlobalAccess; readonly isPaired: boolean },
): Access {
  const refuse = (reason: string, mayPair = false): Access => ({ isAllowed: false, reason, mayPair });
  const isDirect = chat.type === "dm";
  if (sender.isBot) return refuse("it was written by a program");
  if (options.ignored_chats.includes(chat.chatId)) return refuse("its chat is in ignored_chats");
  if (!isDirect && options.allowed_chats.length > 0 && !options.allowed_chats.includes(chat.chatId))
    return refuse("its chat is not in allowed_chats");
  // Checked even where everyone is allowed: a forged sender would use the session of the person whose name was forged.
  if (!sender.isProven) return refuse("nothing proves who wrote it");
  const isOpen = [options, everywhere].some(
    ({ allow_all_users, allowed_users }) => allow_all_users || allowed_users.includes("*"),
  );
  if (!isOpen) {
    const isListed = [options, everywhere].some(({ allowed_users }) => allowed_users.includes(sender.id));
    if (!isListed && !isPaired)
      return refuse(`${sender.id} is not allowed`, isDirect && options.unauthorized_dm_behavior === "pair");
  }
  return { isAllowed: true, tier: findTier(sender, isDirect, options) };
}

/** A list of admins counts only in its own scope. */
export function findTier(sender: Sender, isDirect: boolean, options: CommonOptions): Tier {
  const admins = isDirect ? options.allow_admin_from : options.group_allow_admin_from;
  if (admins.length === 0) return "admin";
  return admins.includes(sender.id) ? "admin" : "user";
}

/** Commands that everyone who is answered may use. */
const ALWAYS_ALLOWED_COMMANDS = ["help", "whoami", "approve", "deny", "stop"];

export function mayUseCommand(name: string, tier: Tier, isDirect: boolean, options: CommonOptions): boolean {
  if (tier === "admin" || ALWAYS_ALLOWED_COMMANDS.includes(name)) return true;
  // If no list is set for direct chats, the list for groups applies to them too.
  const hasOwnList = isDirect && options.user_allowed_commands.length > 0;
  return (hasOwnList ? options.user_allowed_commands : options.group_user_allowed_commands).includes(name);
}
