import { z } from "zod";

const unattended = z.enum(["deny", "approve"]).default("deny");

/** Section `agent`: how far a turn may go, and what the agent may use. */
export const agentOptions = z.strictObject({
  max_turns: z.int().min(1).nullable().default(null).meta({
    description: "Requests to the model in one turn; unset means no limit",
  }),
  run_budget_seconds: z.int().min(1).nullable().default(null).meta({
    description: "Seconds that one turn may take; unset means no limit",
  }),
  max_cost_usd: z.number().positive().nullable().default(null).meta({
    description: "US dollars that one turn may cost, as far as prices are known; unset means no limit",
  }),
  max_session_cost_usd: z.number().positive().nullable().default(null).meta({
    description: "US dollars that one session may cost, as far as prices are known; unset means no limit",
  }),
  max_daily_cost_usd: z.number().positive().nullable().default(null).meta({
    description: "US dollars that all sessions of a profile may cost in a day, as far as prices are known",
  }),
  api_max_retries: z.int().min(0).default(3).meta({
    description: "How often a request that failed for the moment is sent again",
  }),
  reasoning_effort: z.string().default("").meta({
    description: "How hard the model should think, in the provider's own words; empty means its default",
  }),
  disabled_toolsets: z.array(z.string()).default([]).meta({
    description: "Groups of tools that are never offered: terminal, file, todo, session_search, clarify",
  }),
});

/** Section `approvals`: who decides about risky commands. */
export const approvalsOptions = z.strictObject({
  mode: z.enum(["manual", "smart", "off"]).default("smart").meta({
    unused: true,
    description: "manual asks a person, smart asks a reviewing model first, off asks nobody",
  }),
  timeout: z
    .int()
    .min(1)
    .default(300)
    .meta({ unused: true, description: "Seconds a person has to answer; silence is a no" }),
  reviewer_timeout: z
    .int()
    .min(1)
    .default(20)
    .meta({ unused: true, description: "Seconds the reviewing model has before a person is asked" }),
  cron_mode: unattended.meta({ unused: true, description: "Answer for scheduled runs" }),
  single_query_mode: unattended.meta({ unused: true, description: "Answer for one-shot runs" }),
  unattended_mode: unattended.meta({ unused: true, description: "Answer for webhooks and API calls" }),
  deny: z
    .array(z.string())
    .default([])
    .meta({ unused: true, description: "Patterns of commands that are refused whatever the mode" }),
  denial_breaker_threshold: z
    .int()
    .min(1)
    .default(3)
    .meta({ unused: true, description: "Refusals in a row after which the model is told to stop trying" }),
  mcp_reload_confirm: z
    .boolean()
    .default(true)
    .meta({ unused: true, description: "Ask before MCP servers are reloaded" }),
  destructive_slash_confirm: z
    .boolean()
    .default(true)
    .meta({ unused: true, description: "Ask before a chat command that discards something" }),
});
