import { z } from "zod";
import { platformOptions } from "../common-options.ts";

/** Section `platforms.irc`: one connection to an IRC server. */
export const ircOptions = platformOptions("IRC", {
  server: z.string().trim().default("").meta({ description: "Host of the IRC server", env: "IRC_SERVER" }),
  port: z.int().min(1).max(65_535).default(6_697).meta({ description: "Its port", env: "IRC_PORT" }),
  use_tls: z
    .boolean()
    .default(true)
    .meta({ description: "Whether the connection is encrypted", env: "IRC_USE_TLS" }),
  nickname: z.string().trim().default("").meta({ description: "Our nickname", env: "IRC_NICKNAME" }),
  channels: z
    .array(z.string().trim().min(1))
    .default([])
    .meta({ description: "Channels to join", env: "IRC_CHANNEL" }),
  server_password: z.string().default("").meta({
    description: "Password of the server, if it asks for one",
    env: "IRC_SERVER_PASSWORD",
    secret: true,
  }),
  nickserv_password: z.string().default("").meta({
    description: "Password of our nickname's account: for SASL, or for NickServ where the server has no SASL",
    env: "IRC_NICKSERV_PASSWORD",
    secret: true,
  }),
  trust_nicknames: z.boolean().default(false).meta({
    description:
      "Whether a nickname alone identifies a person on a server without accounts; anyone there can take a nickname that is free",
  }),
});
export type IrcOptions = z.infer<typeof ircOptions>;
