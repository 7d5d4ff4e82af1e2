import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
import { MANAGED_RULES, openAppSessions } from "../../../app/approvals.ts";
import { AppError } from "../../../lib/errors.ts";
import { COMMAND_CLASSES } from "../../../policy/commands/command-classes.ts";
import { RULE_LAYERS } from "../../../policy/decision.ts";
import { parseRuleFile } from "../../../policy/rules/rule-file.ts";
import { openRuleSource } from "../../../policy/rules/rule-source.ts";
import { createTrustedRules, findProjectRules, PROJECT_RULES } from "../../../policy/rules/trusted-rules.ts";
import { TOOL_NAMES } from "../../../tools/tool-table.ts";
import type { CommandContext, JsonOption } from "../../context.ts";
import { requirePerson } from "../../require-person.ts";
import { currentFolder } from "../../terminal/current-folder.ts";
import { quoteLine } from "../../terminal/quote-text.ts";
import { requireYes } from "../../terminal/require-yes.ts";
import { renderTable } from "../../terminal/table.ts";

const SUGGEST_SINCE_MS = 90 * 86_400_000;
const MIN_APPROVALS = 2;
/** Classes whose calls are never proposed as a rule, however often they were approved. */
const NEVER_SUGGESTED = /privileged|credential|remote-code|decoded-code|recursive-removal/;

/** Lists the rules that apply to a session in this folder, and the built-in classes that ask. */
export async function listRules(
  { terminal, openApp, reporter }: CommandContext,
  { json }: JsonOption,
): Promise<void> {
  const app = await openApp();
  const source = await openRuleSource({
    managedPath: MANAGED_RULES,
    configPath: app.profile.configPath,
    loadUserRules: async () => app.resolved.config.approvals,
    trusted: createTrustedRules(app.profile.home),
    projectFolder: currentFolder(),
    knownTools: TOOL_NAMES,
    report: reporter.onNotice,
  });
  const sessionRules = (await source.rules()).map(({ layer, effect, text }) => ({
    layer,
    effect,
    rule: text,
    meaning: "",
  }));
  const builtIn = Object.entries(COMMAND_CLASSES).map(([name, meaning]) => ({
    ...{ layer: "built-in", effect: "ask", rule: `class:${name}`, meaning },
  }));
  const rules = [
    ...sessionRules.toSorted((a, b) => RULE_LAYERS.indexOf(a.layer) - RULE_LAYERS.indexOf(b.layer)),
    ...builtIn,
  ];
  if (json) return terminal.printJson(rules);
  terminal.print(
    renderTable(
      ["LAYER", "EFFECT", "RULE", "MEANING"],
      rules.map(({ layer, effect, rule, meaning }) => [layer, effect, quoteLine(rule), meaning]),
      terminal,
    ),
  );
}

/** Prints exact rules for commands that a person has approved at least twice. Changes nothing. */
export async function suggestRules(
  { terminal, openApp, signal }: CommandContext,
  { json }: JsonOption,
): Promise<void> {
  const app = await openApp();
  using store = await openAppSessions(app, signal);
  const { allow } = app.resolved.config.approvals;
  const counts = new Map<string, number>();
  for (const { state, details, rule } of store.approvals.since(Date.now() - SUGGEST_SINCE_MS)) {
    const exact = details.always?.rule;
    if (state !== "approved" || exact === undefined || NEVER_SUGGESTED.test(rule ?? "")) continue;
    if (!allow.includes(exact)) counts.set(exact, (counts.get(exact) ?? 0) + 1);
  }
  const proposals = [...counts]
    .filter(([, count]) => count >= MIN_APPROVALS)
    .map(([rule, count]) => ({ rule, approved: count }))
    .toSorted((one, other) => other.approved - one.approved);
  if (json) return terminal.printJson(proposals);
  if (proposals.length === 0) return terminal.print("Nothing was approved often enough to propose a rule.");
  terminal.print(
    renderTable(
      ["APPROVED", "RULE"],
      proposals.map(({ rule, approved }) => [`${approved} times`, quoteLine(rule)]),
      terminal,
    ),
  );
  terminal.print(
    "\nNothing was changed. To add a rule, run `hermes config edit` and list it under approvals.allow.",
  );
}

/** Copies the rules of a project into the home, after showing them. */
export async function trustProject(
  context: CommandContext,
  folder: string,
  { yes, json }: JsonOption & { readonly yes?: boolean },
): Promise<void> {
  requirePerson(context);
  const { terminal } = context;
  const { profile } = await context.openApp();
  const path = findProjectRules(resolve(currentFolder(), folder));
  if (path === undefined)
    throw new AppError("file-unreadable", `This project has no ${PROJECT_RULES}.`, {
      hint: "Create it in this folder or a parent folder, up to the root of the repository.",
    });
  const text = await readFile(path, "utf8");
  const rules = parseRuleFile(text, path, "project", TOOL_NAMES);
  if (!json) for (const rule of rules) terminal.note(`  ${rule.effect}  ${quoteLine(rule.text)}`);
  const these = rules.length === 1 ? "this rule" : `these ${rules.length} rules`;
  if (!yes) await requireYes(context, `Trust ${these} of ${path}?`, "Trusting rules");
  await createTrustedRules(profile.home).trust(path, text);
  if (json) return terminal.printJson({ path, rules: rules.length });
  terminal.print(
    `Trusted ${rules.length} ${rules.length === 1 ? "rule" : "rules"} of ${path}. Trust the file again after each change.`,
  );
}
