import type { z } from "zod";
import type { Platform } from "../platform.ts";
import type { CommonOptions } from "./common-options.ts";
import { emailOptions } from "./email/options.ts";
import { ircOptions } from "./irc/options.ts";
import type { PlatformParts } from "./platform-parts.ts";
import { scriptedOptions } from "./scripted/options.ts";
import { telegramOptions } from "./telegram/options.ts";
import { webhookOptions } from "./webhook/options.ts";

/** One kind of platform. Its module is loaded when the platform starts. */
export interface PlatformRow<Schema extends z.ZodType<CommonOptions>> {
  /** The name of the service, for users. */
  readonly label: string;
  /** Its settings, below `platforms.NAME`. */
  readonly options: Schema;
  /** The settings without which it cannot connect. */
  readonly requiredSettings: readonly (keyof z.infer<Schema> & string)[];
  /** What `hermes gateway setup` asks for, in this order; nothing if a few questions are not enough to set it up. */
  readonly promptedSettings: readonly (keyof z.infer<Schema> & string)[];
  /** The first step for a user who has no account on the service for Hermes yet, in one sentence. */
  readonly firstStep: string;
  load(): Promise<{ open(options: z.infer<Schema>, parts: PlatformParts): Platform }>;
}

const row = <Schema extends z.ZodType<CommonOptions>>(of: PlatformRow<Schema>): PlatformRow<Schema> => of;

/** All platforms. A new one is one folder and one row here. */
export const PLATFORMS = {
  email: row({
    label: "Email",
    options: emailOptions,
    requiredSettings: ["address", "password", "imap_host", "smtp_host", "authserv_id"],
    promptedSettings: [
      "address",
      "password",
      "imap_host",
      "imap_port",
      "smtp_host",
      "smtp_port",
      "use_tls",
      "authserv_id",
    ],
    firstStep: "Give Hermes a mailbox of its own: it answers every mail of the people whom you name.",
    load: () => import("./email/email-platform.ts"),
  }),
  irc: row({
    label: "IRC",
    options: ircOptions,
    requiredSettings: ["server", "nickname"],
    promptedSettings: [
      "server",
      "port",
      "use_tls",
      "nickname",
      "nickserv_password",
      "channels",
      "trust_nicknames",
    ],
    firstStep: "Choose a nickname that nobody uses; register it where the server has accounts.",
    load: () => import("./irc/irc-platform.ts"),
  }),
  scripted: row({
    label: "scripted",
    options: scriptedOptions,
    requiredSettings: ["address"],
    promptedSettings: [],
    firstStep: "It exists for tests.",
    load: () => import("./scripted/scripted-platform.ts"),
  }),
  telegram: row({
    label: "Telegram",
    options: telegramOptions,
    requiredSettings: ["token"],
    promptedSettings: ["token"],
    firstStep: "Open a chat with @BotFather in Telegram and send /newbot; its answer contains the token.",
    load: () => import("./telegram/telegram-platform.ts"),
  }),
  webhook: row({
    label: "Webhook",
    options: webhookOptions,
    requiredSettings: ["routes"],
    promptedSettings: [],
    firstStep: "Write its routes into config.yaml.",
    load: () => import("./webhook/webhook-platform.ts"),
  }),
};

export type PlatformName = keyof typeof PLATFORMS;
export const PLATFORM_NAMES = Object.keys(PLATFORMS) as PlatformName[];
