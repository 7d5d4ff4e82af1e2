import type { Problem } from "./problem.ts";

/**
 * Settings of the reference that nothing here obeys yet, with the variable of each. A home may hold them; each moves
 * into the schema together with the part that obeys it. Until then everybody who sets one is told.
 */
export const UNBUILT_SETTINGS: Readonly<Record<string, string>> = {
  "model.ollama_num_ctx": "HERMES_MODEL_OLLAMA_NUM_CTX",
  "model.streaming": "HERMES_MODEL_STREAMING",
  "model.persist_switch_by_default": "HERMES_MODEL_PERSIST_SWITCH_BY_DEFAULT",
  fallback_providers: "HERMES_FALLBACK_PROVIDERS",
  "terminal.persistent_shell": "TERMINAL_PERSISTENT_SHELL",
  "terminal.local_persistent": "TERMINAL_LOCAL_PERSISTENT",
  "terminal.ssh_persistent": "TERMINAL_SSH_PERSISTENT",
  "terminal.debug_interrupt": "HERMES_DEBUG_INTERRUPT",
  "terminal.sudo_password": "SUDO_PASSWORD",
  "approvals.mode": "HERMES_APPROVALS_MODE",
  "approvals.timeout": "HERMES_APPROVALS_TIMEOUT",
  "approvals.reviewer_timeout": "HERMES_APPROVALS_REVIEWER_TIMEOUT",
  "approvals.cron_mode": "HERMES_APPROVALS_CRON_MODE",
  "approvals.single_query_mode": "HERMES_APPROVALS_SINGLE_QUERY_MODE",
  "approvals.unattended_mode": "HERMES_APPROVALS_UNATTENDED_MODE",
  "approvals.deny": "HERMES_APPROVALS_DENY",
  "approvals.denial_breaker_threshold": "HERMES_APPROVALS_DENIAL_BREAKER_THRESHOLD",
  "approvals.mcp_reload_confirm": "HERMES_APPROVALS_MCP_RELOAD_CONFIRM",
  "approvals.destructive_slash_confirm": "HERMES_APPROVALS_DESTRUCTIVE_SLASH_CONFIRM",
  "kanban.dispatch_in_gateway": "HERMES_KANBAN_DISPATCH_IN_GATEWAY",
  "kanban.notify_in_gateway": "HERMES_KANBAN_NOTIFY_IN_GATEWAY",
  "kanban.orchestrator_profile": "HERMES_KANBAN_ORCHESTRATOR_PROFILE",
  "kanban.auto_decompose": "HERMES_KANBAN_AUTO_DECOMPOSE",
  "kanban.auto_decompose_per_tick": "HERMES_KANBAN_AUTO_DECOMPOSE_PER_TICK",
  "kanban.auto_promote_children": "HERMES_KANBAN_AUTO_PROMOTE_CHILDREN",
  "kanban.auto_subscribe_on_create": "HERMES_KANBAN_AUTO_SUBSCRIBE_ON_CREATE",
  "kanban.review_dispatch": "HERMES_KANBAN_REVIEW_DISPATCH",
  "kanban.api_expose_transcripts": "HERMES_KANBAN_API_EXPOSE_TRANSCRIPTS",
};

/** Whether a name is such a setting, or stands inside one. */
export function isUnbuilt(name: string): boolean {
  return Object.keys(UNBUILT_SETTINGS).some((key) => name === key || name.startsWith(`${key}.`));
}

export function unbuiltProblem(key: string, where: string): Problem {
  return {
    kind: "unbuilt-key",
    key,
    where,
    message: "is not built yet: nothing in this version obeys it",
    hint: "Remove it, and do not rely on what it promises.",
    used: false,
  };
}
