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
  /** What people call the service. */
  readonly label: string;
  /** Its settings, below `platforms.NAME`. */
  readonly options: Schema;
  /** The settings without which it cannot connect. */
  readonly needs: readonly (keyof z.infer<Schema> & string)[];
  load(): Promise<{ open(options: z.infer<Schema>, parts: PlatformParts): Platform }>;
}

const row = <Schema extends z.ZodType<CommonOptions>>(of: PlatformRow<Schema>): PlatformRow<Schema> => of;

/** All platforms. A new one is one folder and one row here. */
export const PLATFORMS = {
  email: row({
    label: "Email",
    options: emailOptions,
    needs: ["address", "password", "imap_host", "smtp_host", "authserv_id"],
    load: () => import("./email/email-platform.ts"),
  }),
  irc: row({
    label: "IRC",
    options: ircOptions,
    needs: ["server", "nickname"],
    load: () => import("./irc/irc-platform.ts"),
  }),
  scripted: row({
    label: "scripted",
    options: scriptedOptions,
    needs: ["address"],
    load: () => import("./scripted/scripted-platform.ts"),
  }),
  telegram: row({
    label: "Telegram",
    options: telegramOptions,
    needs: ["token"],
    load: () => import("./telegram/telegram-platform.ts"),
  }),
  webhook: row({
    label: "Webhook",
    options: webhookOptions,
    needs: ["routes"],
    load: () => import("./webhook/webhook-platform.ts"),
  }),
};

export type PlatformName = keyof typeof PLATFORMS;
export const PLATFORM_NAMES = Object.keys(PLATFORMS) as PlatformName[];
