import type { Command } from "commander";
import type { Finding } from "../../doctor/check.ts";
import { runChecks } from "../../doctor/run-checks.ts";
import { AppError } from "../../lib/errors.ts";
import type { CommandContext } from "../context.ts";
import { defineCommand, withExamples } from "../define-command.ts";
import { currentFolder } from "../terminal/current-folder.ts";

export function build(context: CommandContext): Command {
  const command = defineCommand(
    "hermes doctor",
    "Check this machine and suggest a fix for each problem.",
    context.terminal,
  )
    .option("--online", "send one short request with each key and to each fallback")
    .option("--fix", "apply safe fixes, such as restricting file permissions")
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
  const { terminal, signal } = context;
  const app = await context.openApp();
  const input = { app, online, signal, cwd: currentFolder };
  let findings = await runChecks(input);
  if (fix) {
    for (const { repair, fix: what } of findings) {
      if (repair === undefined) continue;
      await repair();
      terminal.note(`hermes: fixed: ${what}`);
    }
    findings = await runChecks(input);
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
  const hint = fix === "" ? "" : `\n${" ".repeat(17)}${colours.dim("→")} ${fix}`;
  return `${mark}  ${name.padEnd(9)}  ${detail}${hint}`;
}
