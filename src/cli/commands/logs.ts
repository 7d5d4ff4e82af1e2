import { Argument, type Command, Option } from "commander";
import { followLog } from "../../lib/log/follow-log.ts";
import { LOG_LEVELS, type LogLevel } from "../../lib/log/log-level.ts";
import type { LogName } from "../../lib/log/log-path.ts";
import type { LogLine, LogRecord } from "../../lib/log/log-record.ts";
import { readLogTail } from "../../lib/log/read-log.ts";
import type { CommandContext } from "../context.ts";
import { defineCommand, withExamples } from "../define-command.ts";
import { parseCountOrZero, parseSince } from "../parse-option.ts";
import { escapeForeignControls } from "../terminal/escape-controls.ts";
import type { Colours } from "../terminal/terminal.ts";

interface LogsOptions {
  readonly level?: LogLevel;
  readonly lines: number;
  readonly follow?: boolean;
  readonly session?: string;
  readonly component?: string;
  readonly since?: Date;
  readonly json?: boolean;
}

const HEADING = new Set(["time", "level", "pid", "component", "session", "msg"]);

export function build(context: CommandContext): Command {
  const command = defineCommand("hermes logs", "Show the logs of this profile.", context.terminal)
    .addArgument(
      new Argument("[log]", "agent (everything), errors (warnings and errors) or dashboard-audit")
        .choices(["agent", "errors", "dashboard-audit"] satisfies LogName[])
        .default("agent"),
    )
    .addOption(new Option("--level <level>", "minimum level").choices(LOG_LEVELS))
    .option("-n, --lines <count>", "number of latest lines to show", parseCountOrZero, 50)
    .option("-f, --follow", "follow new lines as they are written")
    .option(
      "--since <time>",
      "only lines after this time: 30m, 2h, 1d or a date",
      (text) => new Date(parseSince(text)),
    )
    .option("--session <id>", "only lines of this session")
    .option("--component <name>", "only lines of this component")
    .option("--json", "print one JSON record per line")
    .action((log, options) => showLogs(context, log, options));
  return withExamples(command, [
    "hermes logs",
    "hermes logs errors --since 1d",
    "hermes logs --level warn -f",
  ]);
}

export async function showLogs(context: CommandContext, file: LogName, options: LogsOptions): Promise<void> {
  const { terminal, signal } = context;
  const { profile } = await context.openApp();
  const show = (line: LogLine): void => {
    // Escaped even without a terminal, because a pager would pass control characters of untrusted text to one.
    terminal.print(options.json ? asJson(line) : escapeForeignControls(asText(line, terminal.colours)));
  };
  const query = { file, ...options };
  if (options.follow) {
    for await (const line of followLog(profile.logsFolder, query, signal)) show(line);
    return signal.throwIfAborted();
  }
  const found = await readLogTail(profile.logsFolder, query);
  for (const line of found) show(line);
  if (found.length === 0) terminal.note(`No matching lines in ${profile.logsFolder}.`);
}

function asJson(line: LogLine): string {
  return JSON.stringify(line.kind === "record" ? line.record : { raw: line.text });
}

function asText(line: LogLine, colours: Colours): string {
  if (line.kind === "raw") return line.text;
  const { time, level, component, session, msg } = line.record;
  const paint = { debug: colours.dim, info: colours.green, warn: colours.yellow, error: colours.red }[level];
  const who = session === undefined ? component : `${component} ${session}`;
  const rest = details(line.record);
  return `${colours.dim(time)} ${paint(level.padEnd(5))} ${who}: ${msg}${rest === "" ? "" : ` ${colours.dim(rest)}`}`;
}

function details(record: LogRecord): string {
  const rest = Object.entries(record).filter(([name]) => !HEADING.has(name));
  return rest
    .map(([name, value]) => `${name}=${typeof value === "string" ? value : JSON.stringify(value)}`)
    .join(" ");
}
