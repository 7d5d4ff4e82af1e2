import { z } from "zod";
import { findEffort } from "../providers/provider.ts";

const EFFORT_EXPECTED = "expected none, minimal, low, medium, high, xhigh, max or ultra";

/** Section `compression`: when a conversation that has become long is compacted. */
export const compressionOptions = z.strictObject({
  enabled: z.boolean().default(true).meta({
    description: "Whether long conversations are compacted: a summary replaces their older part",
  }),
  threshold: z.number().min(0.1).max(0.95).default(0.75).meta({
    description: "Share of the model's context window at which a conversation is compacted",
  }),
  threshold_tokens: z.int().min(1).nullable().default(256_000).meta({
    description: "The same threshold in tokens; the smaller of the two applies. null means no such limit",
  }),
});

/** Key `context_file_max_chars`. */
export const contextFileMaxChars = z.int().min(1).max(500_000).default(20_000).meta({
  description:
    "Maximum characters of SOUL.md and of the project's instructions; of a longer file, the beginning and the end are used",
});

/** Section `agent`: limits of a turn, and the tools that the agent may use. */
export const agentOptions = z.strictObject({
  max_turns: z.int().min(-1).nullable().default(null).meta({
    description: "Maximum number of model requests in one turn; unset, 0 and -1 mean no limit",
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
    description: "How often a request is retried after a temporary failure",
  }),
  key_cooldown_seconds: z.int().min(1).default(3_600).meta({
    description:
      "How long a key that reached a limit is skipped if the server states no time: 24 times as long for a key without credit (402), at most five minutes for a wrong key (401) and for the only key of a provider",
  }),
  reasoning_effort: z
    .string()
    .refine((word) => word === "" || findEffort(word) !== undefined, EFFORT_EXPECTED)
    .default("")
    .meta({
      description:
        "How hard the model should think: none, minimal, low, medium, high, xhigh, max or ultra; empty means its default",
    }),
  image_input_mode: z.enum(["auto", "native", "text"]).default("auto").meta({
    description:
      "How images reach the model: native sends them, text sends descriptions by auxiliary.vision, auto decides by what is known about the model",
  }),
  disabled_toolsets: z.array(z.string()).default([]).meta({
    description:
      "Groups of tools that are never offered: terminal, file, vision, todo, session_search, clarify",
  }),
});

/** Section `auxiliary`: models for work other than the conversation. */
export const auxiliaryOptions = z.strictObject({
  compression: z
    .strictObject({
      provider: z.string().default("auto").meta({
        description: "Provider of the model that writes summaries; auto means that of the conversation",
      }),
      model: z.string().default("").meta({
        description: "Model that writes summaries; empty means that of the conversation",
      }),
      timeout: z.int().min(1).default(120).meta({
        description: "Seconds for which that model may be silent; a summary takes at most five times as long",
      }),
    })
    .prefault({}),
  vision: z
    .strictObject({
      provider: z.string().default("auto").meta({
        description: "Provider of the model that describes images; auto means that of the settings",
      }),
      model: z.string().default("").meta({
        description:
          "Model that describes images to a model that cannot see them, and that the tool vision_analyze asks; empty means that of the conversation if it is known to see images",
      }),
      timeout: z.int().min(1).default(120).meta({
        description: "Seconds that the descriptions of one message may take",
      }),
    })
    .prefault({}),
  title_generation: z
    .strictObject({
      enabled: z.boolean().default(true).meta({
        description:
          "Whether a model writes the titles of chats; otherwise they are cut from the first message",
      }),
      provider: z.string().default("auto").meta({
        description: "Provider of the model that writes titles; auto means that of the conversation",
      }),
      model: z.string().default("").meta({
        description: "Model that writes titles; empty means that of the conversation",
      }),
      timeout: z.int().min(1).default(30).meta({
        description: "Seconds that a title may take before it is cut from the first message",
      }),
    })
    .prefault({}),
});

export type AuxiliaryOptions = z.infer<typeof auxiliaryOptions>;
