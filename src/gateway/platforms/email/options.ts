import { z } from "zod";
import { platformOptions } from "../common-options.ts";

const port = z.int().min(1).max(65_535);
const host = z.string().trim().default("");

/** Section `platforms.email`: one mailbox, read over IMAP and answered over SMTP. */
export const emailOptions = platformOptions("EMAIL", {
  unauthorized_dm_behavior: z.enum(["ignore"]).default("ignore").meta({
    description:
      "What mail of a stranger gets: nothing, because answers to forged senders would hit other people",
  }),
  address: z
    .string()
    .trim()
    .toLowerCase()
    .default("")
    .meta({ description: "Our address, which is also the user name", env: "EMAIL_ADDRESS" }),
  password: z.string().default("").meta({
    description: "Password of the mailbox, for IMAP and SMTP",
    env: "EMAIL_PASSWORD",
    secret: true,
  }),
  imap_host: host.meta({ description: "Server from which mail is read", env: "EMAIL_IMAP_HOST" }),
  imap_port: port.default(993).meta({
    description: "Its port; on 993 the connection is encrypted from the start, elsewhere with STARTTLS",
    env: "EMAIL_IMAP_PORT",
  }),
  smtp_host: host.meta({ description: "Server that sends our mail", env: "EMAIL_SMTP_HOST" }),
  smtp_port: port.default(587).meta({
    description: "Its port; on 465 the connection is encrypted from the start, elsewhere with STARTTLS",
    env: "EMAIL_SMTP_PORT",
  }),
  use_tls: z.boolean().default(true).meta({
    description: "Whether the connections are encrypted; false is accepted only for servers on this machine",
    env: "EMAIL_USE_TLS",
  }),
  authserv_id: z.string().trim().toLowerCase().default("").meta({
    description:
      "Name of our mail server in the header Authentication-Results of mail that it has received. Only what this server has checked proves a sender",
    env: "EMAIL_AUTHSERV_ID",
  }),
  poll_interval: z.int().min(5).default(15).meta({
    description: "Seconds between two checks for new mail; servers that announce new mail are faster",
    env: "EMAIL_POLL_INTERVAL",
  }),
  skip_attachments: z.boolean().default(false).meta({ description: "Whether attached files are left out" }),
  save_sent: z.boolean().default(true).meta({
    description:
      "Whether a copy of each mail is stored in the folder for sent mail; false where the server does that itself, as Gmail does",
  }),
  max_thread_replies_per_hour: z.int().min(1).default(20).meta({
    description:
      "Mails that one thread gets from us in an hour at most, so that two programs cannot answer each other for ever",
  }),
});
export type EmailOptions = z.infer<typeof emailOptions>;
