/** What a call would do, as its tool determines it from the input. Rules and classes check these effects, never raw JSON. */
export interface Effects {
  /** Shell commands that it would run. */
  readonly commands?: readonly string[];
  /** Files that it would read, relative to the working folder or absolute. */
  readonly reads?: readonly string[];
  /** Files that it would create, change or remove, relative to the working folder or absolute. */
  readonly writes?: readonly string[];
  /** Hosts that it would send something to. */
  readonly hosts?: readonly string[];
  /** Ids of background jobs that it would end or write to. */
  readonly jobs?: readonly string[];
  /** True for a command that keeps running in the background. */
  readonly startsJob?: boolean | undefined;
  /** True for a command that asks to run outside the local sandbox. */
  readonly leavesSandbox?: boolean | undefined;
  /** The folder in which it would act, if it is not that of the session. */
  readonly cwd?: string | undefined;
  /** A question that it would ask the user. */
  readonly asks?: {
    readonly question: string;
    readonly choices: readonly string[];
    readonly several: boolean;
  };
  /** True for a call that gives another agent something to do. */
  readonly instructsAgents?: boolean;
  /** True for a call that changes nothing although its tool can. */
  readonly changesNothing?: boolean;
}

/** One call that needs a decision. */
export interface DecisionRequest {
  readonly callId: string;
  readonly tool: string;
  /** Whether the tool can change anything. */
  readonly mutates: boolean;
  readonly effects: Effects;
  /** SHA-256 of the tool's name and its arguments in canonical JSON. */
  readonly hash: string;
  /** One line for a person about what would happen: the command, or the tool and its path. */
  readonly summary: string;
}

/** The steps in their order. `yolo` never skips the steps before it. */
export const DECISION_STEPS = [
  "limits",
  "hardline",
  "sudo",
  "deny-rule",
  "own-processes",
  "plan-mode",
  "taint",
  "yolo",
  "sandbox",
  "rule",
  "remembered",
  "reviewer",
  "person",
] as const;
export type DecisionStep = (typeof DECISION_STEPS)[number];

/** The layers of rules, strongest first. */
export const RULE_LAYERS = ["managed", "user", "project", "session", "built-in"] as const;
export type RuleLayer = (typeof RULE_LAYERS)[number];

/** How long an answer counts: for this call, for this session, or permanently as a rule in the settings. */
export type AnswerScope = "once" | "session" | "always";

/** The outcome for one call, with everything that `hermes why` reports. */
export interface Decision {
  readonly verdict: "allowed" | "denied";
  readonly step: DecisionStep;
  /** The rule that decided or that caused the question, as it is written; a class such as `recursive-removal`, if built in. */
  readonly rule?: string | undefined;
  readonly layer?: RuleLayer | undefined;
  /** Who answered: a user name, or `provider:model` of the reviewer. */
  readonly answeredBy?: string | undefined;
  readonly scope?: AnswerScope | undefined;
  /** Id of the approval, if a person was asked. */
  readonly approvalId?: string | undefined;
  /** One sentence: why. */
  readonly reason: string;
  /** For a denied call: the text for the model. It says that nothing ran, why, and what not to try. */
  readonly message?: string | undefined;
}
