import { type Command, Option } from "commander";
import type { CommandContext } from "../../context.ts";
import { defineCommand, verbsOf, withExamples } from "../../define-command.ts";
import { answerQuestion, approve, deny, listApprovals } from "./answer.ts";
import { listRules, suggestRules, trustProject } from "./rules.ts";

const ID = ["<id>", "question id or id prefix"] as const;

/** `hermes approvals`: questions that wait for an answer, and the rules that decide without one. */
export function build(context: CommandContext): Command {
  const { terminal } = context;
  const approvals = defineCommand(
    "hermes approvals",
    "Answer questions of running sessions and manage the rules for calls.",
    terminal,
  );
  const add = verbsOf(approvals, terminal, { json: true });
  add("list", "List questions that wait for an answer.", [
    "hermes approvals list",
    "hermes approvals list --all",
  ])
    .option("--all", "include answered questions of the last 30 days")
    .action((options) => listApprovals(context, options));
  add("approve", "Let a call run.", [
    "hermes approvals approve a_1f2e3d",
    "hermes approvals approve a_1f --for session",
  ])
    .argument(...ID)
    .addOption(
      new Option("--for <scope>", "how long the answer applies; always adds a rule to approvals.allow")
        .choices(["once", "session", "always"])
        .default("once"),
    )
    .action((id, options) => approve(context, id, options));
  add("deny", "Refuse a call.", ['hermes approvals deny a_1f2e3d "Use the staging database"'])
    .argument(...ID)
    .argument("[reason...]", "reason that the model gets")
    .action((id, reason, options) => deny(context, id, reason, options));
  add("answer", "Answer a question of the model: with the number of a choice, or in your own words.", [
    "hermes approvals answer a_1f2e3d 2",
    'hermes approvals answer a_1f2e3d "Use PostgreSQL 16"',
  ])
    .argument(...ID)
    .argument("<text...>", "number of a choice (several are separated by spaces), or your own words")
    .action((id, words, options) => answerQuestion(context, id, words, options));
  add("rules", "List the rules in force here, strongest first.", ["hermes approvals rules"]).action(
    (options) => listRules(context, options),
  );
  add("suggest", "Propose rules for calls that you have often approved.", [
    "hermes approvals suggest",
  ]).action((options) => suggestRules(context, options));
  add("trust", "Trust the rules of this project, as they are now.", [
    "hermes approvals trust",
    "hermes approvals trust ../app --yes",
  ])
    .argument("[folder]", "a folder of the project", ".")
    .option("-y, --yes", "skip the confirmation")
    .action((folder, options) => trustProject(context, folder, options));
  approvals.addHelpText("after", RULES_HELP);
  return withExamples(approvals, [
    "hermes approvals list",
    "hermes approvals approve a_1f2e3d",
    `hermes config set approvals.ask '["git push *"]'`,
  ]);
}

const RULES_HELP = `
Rules are in approvals.allow, approvals.ask and approvals.deny of the settings,
in /etc/hermes/rules.yaml (managed, strongest) and in .hermes/rules.yaml of a
project that you trust. A deny rule always wins. A rule is one of
  git push *            a command; * stands for any text
  class:publish         a built-in class, see \`hermes approvals rules\`
  write(src/**)         files that are written; read(...) for files that are
                        read
  host(*.example.com)   hosts that are contacted
  todo                  every call of a tool`;
