import { z } from "zod";
import { platformOptions } from "../common-options.ts";

/** Section `platforms.telegram`: one bot. */
export const telegramOptions = platformOptions("TELEGRAM", {
  token: z.string().trim().default("").meta({
    description: "Token of the bot, from @BotFather",
    env: "TELEGRAM_BOT_TOKEN",
    secret: true,
  }),
  base_url: z
    .url({ protocol: /^https?$/, error: "expected an http or https address" })
    .default("https://api.telegram.org")
    .meta({ description: "Address of the Bot API, for a server of your own", env: "TELEGRAM_BASE_URL" }),
  proxy: z.string().default("").meta({
    description: "Proxy for this platform only, as http://NAME:PASSWORD@HOST:PORT",
    env: "TELEGRAM_PROXY",
    secret: true,
  }),
});
export type TelegramOptions = z.infer<typeof telegramOptions>;
