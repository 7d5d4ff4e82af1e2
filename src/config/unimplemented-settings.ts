import type { Problem } from "./setting-problem.ts";
import { variableOf } from "./variable-name.ts";

/**
 * Settings of the reference program that are not implemented here yet, by section. A user who sets one gets a warning. Each moves
 * into the schema together with its implementation.
 */
const NAMES = {
  model: "streaming persist_switch_by_default",
  terminal: "persistent_shell local_persistent ssh_persistent",
  approvals: "cron_mode unattended_mode mcp_reload_confirm destructive_slash_confirm",
  session_reset: "bg_process_max_age_hours",
  streaming: "transport mode cursor fresh_final_after_seconds",
  kanban:
    "notify_in_gateway orchestrator_profile auto_decompose auto_decompose_per_tick auto_promote_children auto_subscribe_on_create review_dispatch api_expose_transcripts",
};

/** The same settings with their variables. */
export const UNIMPLEMENTED_SETTINGS: Readonly<Record<string, string>> = {
  ...Object.fromEntries(
    Object.entries(NAMES).flatMap(([section, names]) =>
      names.split(" ").map((name) => [`${section}.${name}`, variableOf([section, name])]),
    ),
  ),
  "terminal.debug_interrupt": "HERMES_DEBUG_INTERRUPT",
  "terminal.sudo_password": "SUDO_PASSWORD",
};

/** Whether a name is an unimplemented setting, or a path inside one. */
export function isUnimplemented(name: string): boolean {
  return Object.keys(UNIMPLEMENTED_SETTINGS).some((key) => name === key || name.startsWith(`${key}.`));
}

export function unimplementedProblem(key: string, where: string): Problem {
  const message = "is not implemented in this version and has no effect";
  return { kind: "unbuilt-key", key, where, message, hint: "Remove it.", used: false };
}
