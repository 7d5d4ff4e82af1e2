import type { AuxiliaryOptions } from "../agent/options.ts";
import type { ApprovalDetails } from "../approvals/approval.ts";
import type { CheckpointOptions } from "../checkpoints/options.ts";
import type { SecurityOptions } from "../context/options.ts";
import type { EnvironmentRegistry } from "../environments/environment-registry.ts";
import type { EnvironmentFacts } from "../environments/environment-request.ts";
import type { Redactor } from "../lib/redact/redactor.ts";
import type { ApprovalsOptions } from "../policy/options.ts";
import type { RouteCatalogue } from "../providers/catalogue/route-catalogue.ts";
import type { PoolStrategy } from "../providers/pool/choose-key.ts";
import type { ReasoningEffort } from "../providers/provider.ts";
import type { RouteRequest } from "../providers/routes/choose-provider.ts";
import type { SessionChoice } from "../sessions/resolve-session.ts";
import type { Tool } from "../tools/tool.ts";
import type { FileSending } from "../tools/tool-parts.ts";
import type { Exchange } from "./conversation.ts";
import type { FallbackSettings } from "./fallback-routes.ts";
import type { PolicyRequest } from "./gate/create-policy.ts";
import type { RunOverrides } from "./session-route.ts";
import type { CompactionSettings } from "./turn-compaction.ts";

/** Properties of a surface, the user interface that a conversation runs in. */
export interface Surface {
  /** The source under which its sessions are stored: cli, oneshot, telegram… */
  readonly source: string;
  /** What the model should know about the surface, in one or two sentences. */
  readonly instructions: string;
  readonly canNotify: boolean;
  readonly takesNotes: boolean;
  /** Whether a turn that repeats itself is ended; for unattended surfaces. */
  readonly haltsLoops: boolean;
  /** Whether the answer is shown while it streams, so that a failed request cannot be restarted unnoticed. */
  readonly showsText: boolean;
  readonly toolsets?: readonly string[] | undefined;
  readonly whenApprovalNeeded: PolicyRequest["surface"]["whenApprovalNeeded"];
  /** Where a person chats, a model writes the title; elsewhere it is cut from the first message. */
  readonly titledBy: "model" | "message" | "nobody";
  /** How files reach the people of the conversation; absent where they cannot. */
  readonly fileSending?: FileSending | undefined;
  /** Additional tools of this surface, which settings cannot disable. */
  readonly tools?: readonly Tool[] | undefined;
}

export interface ConversationRequest {
  readonly home: string;
  readonly sessionsPath: string;
  /** The folder for results and output that are too long for the model. */
  readonly spillHome: string;
  /** The database with the states of keys. */
  readonly keysPath: string;
  readonly settings: FallbackSettings &
    CompactionSettings & {
      readonly credential_pool_strategies: Readonly<Record<string, PoolStrategy>>;
      readonly agent: {
        readonly api_max_retries: number;
        readonly key_cooldown_seconds: number;
        readonly reasoning_effort: string;
        readonly disabled_toolsets: readonly string[];
        readonly max_session_cost_usd: number | null;
        readonly max_daily_cost_usd: number | null;
        readonly image_input_mode: "auto" | "native" | "text";
      };
      readonly approvals: ApprovalsOptions;
      readonly checkpoints: CheckpointOptions;
      readonly auxiliary: Pick<AuxiliaryOptions, "title_generation" | "vision">;
      readonly tool_output: { readonly max_bytes: number; readonly spill_max_bytes: number };
      readonly context_file_max_chars: number;
      readonly security: SecurityOptions;
    };
  readonly redactor: Redactor;
  /** Shared by all conversations of the process. */
  readonly environments: EnvironmentRegistry;
  readonly environment: EnvironmentFacts;
  readonly task?: string | undefined;
  readonly choice: SessionChoice;
  /** What a new session starts with: exchanges that took place elsewhere. */
  readonly earlierExchanges?: readonly Exchange[] | undefined;
  readonly model: RouteRequest;
  /** Settings given for this run only; these also apply to a resumed session. */
  readonly overrides: RunOverrides;
  readonly catalogue: RouteCatalogue;
  /** Overrides `agent.reasoning_effort`. */
  readonly reasoningEffort?: ReasoningEffort | undefined;
  readonly surface: Surface;
  readonly policy: PolicyRequest["policy"];
  readonly rules: PolicyRequest["rules"];
  /** The task that is blocked while its worker's question waits. */
  readonly askingTask?: ApprovalDetails["task"];
  /** False if a new session gets neither SOUL.md nor the project's instructions. */
  readonly usesContextFiles: boolean;
}
