import { z } from "zod";
import { readEffort } from "../providers/provider.ts";

const EFFORT_EXPECTED = "expected none, minimal, low, medium, high, xhigh, max or ultra";

/** Section `agent`: how far a turn may go, and what the agent may use. */
export const agentOptions = z.strictObject({
  max_turns: z.int().min(1).nullable().default(null).meta({
    description: "Requests to the model in one turn; unset means no limit",
  }),
  run_budget_seconds: z.int().min(1).nullable().default(null).meta({
    description: "Seconds that one turn may take; unset means no limit",
  }),
  max_cost_usd: z.number().positive().nullable().default(null).meta({
    description: "US dollars that one turn may cost; unset means no limit",
  }),
  max_session_cost_usd: z.number().positive().nullable().default(null).meta({
    description: "US dollars that one session may cost; unset means no limit",
  }),
  max_daily_cost_usd: z.number().positive().nullable().default(null).meta({
    description: "US dollars that all sessions of a profile may cost in a day",
  }),
  api_max_retries: z.int().min(0).default(3).meta({
    description: "How often a request that failed for the moment is sent again",
  }),
  reasoning_effort: z
    .string()
    .refine((word) => word === "" || readEffort(word) !== undefined, EFFORT_EXPECTED)
    .default("")
    .meta({
      description:
        "How hard the model should think: none, minimal, low, medium, high, xhigh, max or ultra; empty means its default",
    }),
  disabled_toolsets: z.array(z.string()).default([]).meta({
    description: "Groups of tools that are never offered: terminal, file, todo, session_search, clarify",
  }),
});
