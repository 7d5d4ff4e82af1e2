import type { ReviewCost } from "../../agent/events.ts";
import { describeContainment, findOpeningInUse } from "../../environments/containment.ts";
import type { EnvironmentFacts, EnvironmentRequest } from "../../environments/environment-request.ts";
import { resolveLinks } from "../../lib/files/resolve-links.ts";
import type { Redactor } from "../../lib/redact/redactor.ts";
import type { ApprovalsOptions } from "../../policy/options.ts";
import type { Policy, PolicyState } from "../../policy/policy.ts";
import { openRuleSource, type RuleSourceParts } from "../../policy/rules/rule-source.ts";
import type { UntrustedSources } from "../../policy/untrusted/untrusted-sources.ts";
import { createWrittenFiles } from "../../policy/written-by-session.ts";
import type { Model } from "../../providers/provider.ts";
import { createFileProbe } from "../prompt/probe-files.ts";
import { reviewCall } from "./review-call.ts";

/** The parts of a session that decisions depend on. */
interface SessionParts extends Pick<Policy, "useGrant" | "rememberedRules"> {
  cwd(): string;
  /** The environment of the session; its folder is the one that the session was started in. */
  readonly inUse: EnvironmentRequest;
  /** The model that currently answers. */
  model(): Model;
  readonly knownTools: ReadonlySet<string>;
  /** The files that earlier processes of the session have written. */
  pastWrites(): readonly string[];
  readonly untrusted: UntrustedSources;
  /** Called after each request to the reviewer. */
  onReview(cost: ReviewCost): void;
}

/** The parts of a conversation's request that decisions depend on. */
export interface PolicyRequest {
  readonly home: string;
  readonly settings: { readonly approvals: ApprovalsOptions };
  readonly redactor: Redactor;
  readonly environment: EnvironmentFacts;
  /** Changed by the surface at any time, for instance to plan mode. */
  readonly policy: PolicyState;
  readonly rules: Omit<RuleSourceParts, "knownTools" | "projectFolder" | "report">;
  readonly surface: {
    /** What happens to a call that needs approval if the reviewer does not decide. */
    readonly whenApprovalNeeded: Policy["unattended"];
  };
}

/** Creates the policy for the calls of one session. Throws `rules-invalid` if a rule file is invalid. */
export async function createPolicy(
  request: PolicyRequest,
  { cwd, inUse, model, knownTools, rememberedRules, useGrant, pastWrites, untrusted, onReview }: SessionParts,
): Promise<Policy> {
  const { environment, settings, surface, redactor } = request;
  const isLocal = environment.options.backend === "local";
  const source = await openRuleSource({
    ...request.rules,
    knownTools,
    projectFolder: isLocal ? inUse.cwd : undefined,
    report: environment.reporter.onNotice,
  });
  return {
    state: request.policy,
    rules: source.rules,
    environment: {
      ...describeContainment(environment.options),
      findOpening: isLocal ? undefined : (signal) => findOpeningInUse(inUse, signal),
      home: isLocal ? environment.variables["HOME"] : undefined,
    },
    cwd,
    workspace: isLocal ? inUse.cwd : undefined,
    resolveLinks: isLocal ? resolveLinks : undefined,
    probeFiles: isLocal
      ? createFileProbe(environment.variables, {
          trustsRepositories: environment.options.local_sandbox === "off",
        })
      : undefined,
    written: isLocal ? createWrittenFiles(pastWrites) : undefined,
    hermesHome: request.home,
    ownPids: [process.pid, process.ppid],
    rememberedRules,
    useGrant,
    untrusted: untrusted.list,
    knownTools,
    review: async ({ tool, effects, summary }, reason, signal) => {
      const call = redactor.redact(effects.commands?.join("\n") ?? summary);
      const timeoutMs = settings.approvals.reviewer_timeout * 1_000;
      const { review, cost } = await reviewCall(model(), { tool, call, reason }, timeoutMs, signal);
      if (cost !== undefined) onReview(cost);
      return review;
    },
    unattended: surface.whenApprovalNeeded,
  };
}
