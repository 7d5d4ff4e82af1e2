import { RULE_LAYERS } from "../decision.ts";
import { isInFolder, matchesRule, type RuleSubject } from "./match-rule.ts";
import type { Rule, RuleEffect } from "./rule.ts";

/** The matching deny rule of the strongest layer. A deny rule of any layer wins over all other rules. */
export function findDenyRule(rules: readonly Rule[], subject: RuleSubject): Rule | undefined {
  return findIn(rules, "deny", subject);
}

/**
 * The allow or ask rule that decides. The strongest layer with a match wins. Within a layer, ask wins over allow, unless the
 * allow rule is the exact command, as an answer "always" adds it. Remembered answers of the session are not considered here:
 * they answer the questions that ask rules raise.
 */
export function findAllowOrAskRule(rules: readonly Rule[], subject: RuleSubject): Rule | undefined {
  for (const layer of RULE_LAYERS) {
    const own = rules.filter((rule) => rule.layer === layer);
    if (own.length === 0) continue;
    const found =
      own.find((rule) => rule.effect === "allow" && isCommandItself(rule, subject)) ??
      findIn(own, "ask", subject) ??
      findIn(own, "allow", subject);
    if (found !== undefined) return found;
  }
  return undefined;
}

function findIn(rules: readonly Rule[], effect: RuleEffect, subject: RuleSubject): Rule | undefined {
  let strongest: Rule | undefined;
  for (const rule of rules) {
    if (rule.effect !== effect || (strongest && strength(rule) >= strength(strongest))) continue;
    if (matchesRule(rule, subject)) strongest = rule;
  }
  return strongest;
}

function isCommandItself({ pattern }: Rule, subject: RuleSubject): boolean {
  const { commands } = subject;
  return (
    pattern.kind === "command" &&
    isInFolder(pattern, subject) &&
    commands.length > 0 &&
    commands.every(({ text }) => text.trim() === pattern.glob)
  );
}

function strength({ layer }: Rule): number {
  return RULE_LAYERS.indexOf(layer);
}
