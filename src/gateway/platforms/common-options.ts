import { z } from "zod";

import { BACKENDS, ISOLATIONS, LOCAL_SANDBOXES } from "../../environments/options.ts";

export const RESET_MODES = ["none", "idle", "daily", "both"] as const;

const names = z.array(z.string().trim().min(1)).default([]);

/**
 * The settings of a platform: its own, and those that every platform has. `prefix` is the beginning of the variables that
 * override them, so that `allowed_users` of IRC is also IRC_ALLOWED_USERS.
 */
export function platformOptions<Own extends z.ZodRawShape>(prefix: string, own: Own) {
  return z.strictObject({
    ...commonShape(prefix),
    ...own,
  });
}

function commonShape(prefix: string) {
  return {
    enabled: z
      .boolean()
      .nullable()
      .default(null)
      .meta({ description: "Whether the gateway connects; unset means yes once its settings are complete" }),
    allowed_users: names.meta({
      description: "Ids of the people who are answered; * means everyone",
      env: `${prefix}_ALLOWED_USERS`,
    }),
    allow_all_users: z
      .boolean()
      .default(false)
      .meta({
        description: "Whether everyone is answered whose id the platform proves",
        env: `${prefix}_ALLOW_ALL_USERS`,
      }),
    allowed_chats: names.meta({ description: "Ids of the groups that are answered in; none means all" }),
    ignored_chats: names.meta({ description: "Ids of chats that are never answered in" }),
    require_mention: z
      .boolean()
      .default(true)
      .meta({ description: "Whether a message in a group must mention or answer us" }),
    unauthorized_dm_behavior: z.enum(["pair", "ignore"]).default("pair").meta({
      description: "What a stranger's direct message gets: a pairing code, or nothing",
    }),
    allow_admin_from: names.meta({
      description: "Ids of the people who may use every command in direct chats; none means that all may",
    }),
    user_allowed_commands: names.meta({ description: "Commands that other people may use in direct chats" }),
    group_allow_admin_from: names.meta({
      description: "Ids of the people who may use every command in groups; none means that all may",
    }),
    group_user_allowed_commands: names.meta({ description: "Commands that other people may use in groups" }),
    terminal: z
      .strictObject({
        backend: z
          .enum(BACKENDS)
          .nullable()
          .default(null)
          .meta({ description: "Overrides terminal.backend for sessions of this platform" }),
        isolation: z
          .enum(ISOLATIONS)
          .nullable()
          .default(null)
          .meta({ description: "Overrides terminal.isolation for sessions of this platform" }),
        local_sandbox: z
          .enum(LOCAL_SANDBOXES)
          .nullable()
          .default(null)
          .meta({ description: "Overrides terminal.local_sandbox for sessions of this platform" }),
        docker_image: z
          .string()
          .min(1)
          .nullable()
          .default(null)
          .meta({ description: "Overrides terminal.docker_image for sessions of this platform" }),
      })
      .prefault({}),
    user_toolsets: z.array(z.string().trim().min(1)).nullable().default(null).meta({
      description:
        "Groups of tools in turns of people who are not admins, where there is a list of admins; unset means all",
    }),
    session_reset: z
      .enum(RESET_MODES)
      .nullable()
      .default(null)
      .meta({ description: "Overrides session_reset.mode on this platform" }),
    typing_indicator: z
      .boolean()
      .default(true)
      .meta({ description: "Whether people see that we are typing while a turn runs" }),
    runtime_footer: z
      .boolean()
      .nullable()
      .default(null)
      .meta({ description: "Overrides display.runtime_footer.enabled on this platform" }),
    home_channel: z
      .string()
      .default("")
      .meta({
        description: "Chat that gets what belongs to no other chat",
        env: `${prefix}_HOME_CHANNEL`,
      }),
  };
}

/** The settings that every platform has. */
export type CommonOptions = z.infer<z.ZodObject<ReturnType<typeof commonShape>>>;
