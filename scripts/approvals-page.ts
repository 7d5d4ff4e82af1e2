import { readFile } from "node:fs/promises";
import { COMMAND_CLASSES } from "../src/policy/commands/command-classes.ts";
import { DECISION_STEPS, type DecisionStep } from "../src/policy/decision.ts";
import { replaceTable } from "./generated-table.ts";

export const APPROVALS_PAGE = "docs/approvals.md";

/** The description of each step of a decision, for users. */
const STEPS: Readonly<Record<DecisionStep, string>> = {
  limits: "refuses a command that is too long or too complex to check, or wrongly quoted",
  hardline: "refuses what destroys the system, a disk or a home folder, or stops the machine",
  sudo: "refuses `sudo -S`, which reads a password from its input",
  "deny-rule": "refuses what a deny rule of any layer matches",
  "own-processes": "refuses to end or replace the Hermes that runs the command",
  "plan-mode": "in plan mode, refuses every call that might change something",
  taint:
    "asks before anything is sent, credentials are touched or instructions for later sessions are changed, as long as the conversation contains untrusted text",
  yolo: "allows everything else with `--yolo` or `approvals.mode: off`, except what a managed ask rule asks about",
  sandbox: "allows what stays inside an isolated sandbox",
  rule: "applies your allow and ask rules, then the built-in classes; allows what nothing asks about",
  remembered: "allows what you have allowed for this session",
  reviewer: "in smart mode, lets a model approve or refuse the call, or leave it to you",
  person: "asks you",
};

/** Returns the page with its tables generated again; the rest of it is written by hand. */
export async function approvalsPage(): Promise<string> {
  const page = await readFile(APPROVALS_PAGE, "utf8");
  const steps = DECISION_STEPS.map((step, index) => [`${index + 1}`, `\`${step}\``, STEPS[step]]);
  const classes = Object.entries(COMMAND_CLASSES).map(([name, meaning]) => [`\`class:${name}\``, meaning]);
  return replaceTable(
    replaceTable(page, "steps", ["", "step", "what it does"], steps),
    "classes",
    ["class", "a command that"],
    classes,
  );
}
