import type { AnswerScope, DecisionRequest } from "./decision.ts";
import type { FileProbe } from "./harmless-findings.ts";
import type { Rule } from "./rules/rule.ts";
import type { WrittenFiles } from "./written-by-session.ts";

/** `manual`: a person answers. `smart`: a reviewer model answers first. `off`: nothing is asked. */
export type ApprovalMode = "manual" | "smart" | "off";

/** What a session may do. It may change at any time, so each decision reads it again. */
export interface PolicyState {
  mode: ApprovalMode;
  /** Nothing is asked in this session. The steps before `yolo` still apply. */
  isYolo: boolean;
  /** Only calls that change nothing may run. */
  isPlanning: boolean;
}

/** The facts about the environment in which calls run. */
export interface EnvironmentPolicy {
  /** True if a command cannot reach files, processes or secrets of the user. */
  readonly isIsolated: boolean;
  /** Inspects the existing sandbox and returns why it is not isolated, in one sentence; undefined if it is isolated. */
  readonly findOpening?: ((signal: AbortSignal) => Promise<string | undefined>) | undefined;
  /** Why it is or is not isolated, in one sentence. */
  readonly reason: string;
  /** Whether processes of this Hermes can be reached from there. */
  readonly sharesProcesses: boolean;
  readonly home: string | undefined;
  /** Classes of commands that the environment makes harmless, so that they need no answer there. */
  readonly contains?: ReadonlySet<string> | undefined;
}

export interface Review {
  readonly verdict: "approve" | "deny" | "escalate";
  readonly reason: string;
  readonly reviewer: string;
}

/** An approval that waits to be used. */
export interface Grant {
  readonly id: string;
  readonly answeredBy: string | undefined;
  readonly scope: AnswerScope | undefined;
}

/** Everything that a decision depends on. */
export interface Policy {
  readonly state: Readonly<PolicyState>;
  /** The rules of all layers that apply in a folder. They are read again when their files change. */
  rules(cwd: string): Promise<readonly Rule[]>;
  readonly environment: EnvironmentPolicy;
  /** The working folder of the session's shell. */
  cwd(): string;
  /** The folder that relative paths in rules start at; undefined if it is the folder in which the shell starts. */
  readonly workspace?: string | undefined;
  /** The path without symbolic links; undefined where files are not on this machine. */
  readonly resolveLinks?: ((path: string) => Promise<string>) | undefined;
  /** Checks the state of files; undefined where files are not on this machine. */
  readonly probeFiles?: FileProbe | undefined;
  /** The files that the session has written; undefined where files are not on this machine. */
  readonly written?: WrittenFiles | undefined;
  readonly hermesHome: string;
  /** The sources of text in the conversation that neither the user nor the project wrote. */
  readonly untrusted?: (() => readonly string[]) | undefined;
  /** Process ids of this Hermes, which a command must not end. */
  readonly ownPids: readonly number[];
  /** Rules that a person has accepted for this session. */
  rememberedRules(): readonly string[];
  /** Uses the approval that a person gave for this call after the process that asked had exited. */
  useGrant(hash: string, signal: AbortSignal): Promise<Grant | undefined>;
  readonly knownTools: ReadonlySet<string>;
  /** Asks the reviewer model; undefined if there is none. */
  readonly review?:
    | ((request: DecisionRequest, reason: string, signal: AbortSignal) => Promise<Review>)
    | undefined;
  /** What happens where no person can be asked. */
  readonly unattended: "deny" | "approve" | "ask";
}

/** A call that only a person may decide, with the rules that an answer could add. */
export interface OpenQuestion {
  readonly question: {
    readonly reason: string;
    readonly rule: string;
    readonly layer: Rule["layer"];
    readonly session: { readonly rule: string; readonly words: string } | undefined;
    readonly always: { readonly rule: string; readonly words: string } | undefined;
  };
}
