import { RULE_LAYERS } from "../decision.ts";
import { isInFolder, matchesRule, type RuleSubject } from "./match-rule.ts";
import type { Rule, RuleEffect } from "./rule.ts";

/** The deny rule that applies, from the strongest layer. A deny rule of any layer wins over everything else. */
export function findDenyRule(rules: readonly Rule[], subject: RuleSubject): Rule | undefined {
  return findIn(rules, "deny", subject);
}

/**
 * The allow or ask rule that decides: that of the strongest layer with a match; in one layer, ask wins over allow, except
 * over an allow rule that is the command itself: an answer "always" adds such a rule. The remembered answers of a session
 * are not rules here: they answer the questions of ask rules.
 */
export function findAllowOrAskRule(rules: readonly Rule[], subject: RuleSubject): Rule | undefined {
  for (const layer of RULE_LAYERS) {
    const own = rules.filter((rule) => rule.layer === layer);
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
