import { parse } from "yaml";
import { z } from "zod";
import { AppError, messageOf } from "../../lib/errors.ts";
import type { RuleLayer } from "../decision.ts";
import { parseRule, type Rule, type RuleEffect } from "./rule.ts";

/** Rules as they are written, by effect. */
export type RuleLists = Readonly<Record<RuleEffect, readonly string[]>>;

const MAX_CHARS = 256_000;
const list = z.array(z.string()).default([]);
const ruleFile = z.strictObject({ allow: list, ask: list, deny: list });

/** Parses a rule file. One invalid rule invalidates the whole file, because the other rules may depend on it. */
export function parseRuleFile(
  text: string,
  path: string,
  layer: RuleLayer,
  knownTools: ReadonlySet<string>,
): readonly Rule[] {
  if (text.length > MAX_CHARS) throw invalid(path, `it is longer than ${MAX_CHARS} characters`);
  let lists: RuleLists;
  try {
    lists = ruleFile.parse(parse(text) ?? {});
  } catch (error) {
    const problem =
      error instanceof z.ZodError
        ? error.issues.map(({ path: at, message }) => `${at.join(".") || "the file"}: ${message}`).join("; ")
        : messageOf(error).split("\n")[0]?.replace(/:$/, "");
    throw invalid(path, problem ?? "it is not YAML");
  }
  return parseRules(lists, layer, knownTools, (problem) => invalid(path, problem));
}

/** Parses lists of rules. Throws what `fail` returns for the first problem. */
export function parseRules(
  lists: RuleLists,
  layer: RuleLayer,
  knownTools: ReadonlySet<string>,
  fail: (problem: string) => AppError,
): readonly Rule[] {
  return (["allow", "ask", "deny"] as const).flatMap((effect) =>
    lists[effect].map((text) => {
      const rule = parseRule(text, effect, layer, knownTools);
      if (typeof rule === "string") throw fail(`the ${effect} rule "${text}" ${rule}`);
      return rule;
    }),
  );
}

function invalid(path: string, problem: string): AppError {
  return new AppError("rules-invalid", `${path} is not used: ${problem}.`);
}
