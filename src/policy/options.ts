import { z } from "zod";
import { parseRule } from "./rules/rule.ts";

/** Refuses a rule that could never match. Names of tools are checked later, because only a session has the list of tools. */
const rule = z
  .string()
  .min(1)
  .superRefine((text, context) => {
    const parsed = parseRule(text, "ask", "user", undefined);
    if (typeof parsed === "string")
      context.addIssue({ code: "custom", message: `the rule "${text}" ${parsed}` });
  });
const rules = z.array(rule).default([]);

/** Section `approvals`: which calls run unasked, which are asked about, and which never run. */
export const approvalsOptions = z.strictObject({
  mode: z.enum(["manual", "smart", "off"]).default("smart").meta({
    description:
      "Who answers when a call needs approval: manual (a person), smart (a reviewer model first, then a person), off (nothing is asked)",
  }),
  timeout: z.int().min(1).default(300).meta({
    description:
      "Seconds after which an unanswered question counts as denied, and a question of the model is left to the model",
  }),
  on_timeout: z.enum(["deny", "end-turn"]).default("deny").meta({
    description:
      "What happens when nobody answers in time: the call is denied and the model goes on (deny), or the turn ends too (end-turn)",
  }),
  reviewer_timeout: z.int().min(1).default(20).meta({
    description: "Seconds that the reviewer model may take before a person is asked",
  }),
  single_query_mode: z.enum(["deny", "approve", "ask"]).default("deny").meta({
    description:
      "What `-z` does with a call that needs approval: deny it, run it, or ask, so that `hermes approvals` in another terminal can answer",
  }),
  allow: rules.meta({
    description: "Rules for calls that run unasked, such as `npm publish *` or `write(docs/**)`",
  }),
  ask: rules.meta({
    description: "Rules for calls that need approval, such as `git push *` or `read(**/*.pem)`",
  }),
  deny: rules.meta({
    description: "Rules for calls that never run, in no mode, such as `terraform destroy*`",
  }),
  denial_breaker_threshold: z.int().min(1).default(3).meta({
    description: "Denials in a row after which the model must stop; one more ends the turn",
  }),
});

export type ApprovalsOptions = z.infer<typeof approvalsOptions>;
