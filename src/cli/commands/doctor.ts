import type { Command } from "commander";
import { AppError } from "../../lib/errors.ts";
import type { CommandContext } from "../context.ts";
import { defineCommand, withExamples } from "../define-command.ts";
import { checkBoards } from "../doctor/boards.ts";
import type { Check, Finding } from "../doctor/check.ts";
import { checkConfig, checkDisk, checkHome } from "../doctor/home.ts";
import { checkModel } from "../doctor/model.ts";
import { checkProfiles } from "../doctor/profiles.ts";
import { checkDocker, checkPodman, checkSingularity, checkSsh } from "../doctor/programs.ts";
import { checkRuns } from "../doctor/runs.ts";
import { checkNode, checkSqlite } from "../doctor/runtime.ts";
import { checkSessions } from "../doctor/sessions.ts";

const CHECKS: readonly Check[] = [
  checkNode,
  checkSqlite,
  checkHome,
  checkConfig,
  checkModel,
  checkProfiles,
  checkDisk,
  checkSessions,
  checkBoards,
  checkRuns,
  checkDocker,
  checkPodman,
  checkSingularity,
  checkSsh,
];

/** `hermes doctor`: what is in place, what is not, and what to do about it. */
export function build(context: CommandContext): Command {
  const command = defineCommand(
    "hermes doctor",
    "Check this machine and say what to do about each finding.",
    context.terminal,
  )
    .option("--online", "also send the model one short request, which proves the key")
    .option("--fix", "do what can be done without harm, such as closing a file to others")
    .option("--json", "print JSON")
    .action((options) => doctor(context, options));
  return withExamples(command, ["hermes doctor", "hermes doctor --online", "hermes -p work doctor --json"]);
}

interface DoctorOptions {
  readonly online?: boolean;
  readonly fix?: boolean;
  readonly json?: boolean;
}

async function doctor(context: CommandContext, { online = false, fix, json }: DoctorOptions): Promise<void> {
  const { terminal, variables, signal } = context;
  const app = await context.openApp();
  const look = async () =>
    (await Promise.all(CHECKS.map((check) => check({ app, variables, online, signal })))).flat();
  let findings = await look();
  if (fix) {
    for (const { repair, fix: what } of findings) {
      if (repair === undefined) continue;
      await repair();
      terminal.note(`hermes: done: ${what}`);
    }
    findings = await look();
  }
  const failed = findings.filter((finding) => finding.status === "fail").length;
  if (json) terminal.printJson({ ok: failed === 0, checks: findings });
  else {
    for (const finding of findings) terminal.print(line(finding, context));
    const open = findings.filter(({ status }) => status === "fail" || status === "warn");
    if (open.length > 0) terminal.print("\nWhat to do");
    for (const [index, { name, fix: what }] of open.entries())
      terminal.print(`  ${index + 1}. ${name}: ${what}`);
  }
  if (failed > 0) {
    throw new AppError("checks-failed", failed === 1 ? "1 check failed." : `${failed} checks failed.`);
  }
}

function line({ name, status, detail, fix }: Finding, { terminal: { colours } }: CommandContext): string {
  const mark = {
    ok: colours.green("ok  "),
    note: colours.dim("note"),
    warn: colours.yellow("warn"),
    fail: colours.red("FAIL"),
  }[status];
  const advice = fix === "" ? "" : `\n${" ".repeat(17)}${colours.dim("→")} ${fix}`;
  return `${mark}  ${name.padEnd(9)}  ${detail}${advice}`;
}
