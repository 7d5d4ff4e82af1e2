import { type Command, InvalidArgumentError, Option } from "commander";
import { followLog } from "../../lib/log/follow-log.ts";
import { LOG_LEVELS, type LogLevel } from "../../lib/log/log-level.ts";
import type { LogName } from "../../lib/log/log-path.ts";
import type { LogLine, LogRecord } from "../../lib/log/log-record.ts";
import { readLogTail } from "../../lib/log/read-log.ts";
import type { CommandContext } from "../context.ts";
import { defineCommand, withExamples } from "../define-command.ts";
import { escapeForeignControls } from "../escape-controls.ts";
import type { Colours } from "../terminal.ts";

interface LogsOptions {
  readonly level?: LogLevel;
  readonly lines: number;
  readonly follow?: boolean;
  readonly session?: string;
  readonly component?: string;
  readonly since?: Date;
  readonly json?: boolean;
}

const LOGS: readonly LogName[] = ["agent", "errors"];
const UNITS: Record<string, number> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };
const HEADING = new Set(["time", "level", "pid", "component", "session", "msg"]);

/** `hermes logs`: what happened, filtered. */
export function build(context: CommandContext): Command {
  const command = defineCommand("hermes logs", "Read the logs of this profile.", context.terminal)
    .argument("[log]", "agent (everything) or errors (warnings and errors)", parseLogName, "agent")
    .addOption(new Option("--level <level>", "this level and up").choices(LOG_LEVELS))
    .option("-n, --lines <count>", "how many of the last lines", parseCount, 50)
    .option("-f, --follow", "go on with new lines as they come")
    .option("--since <time>", "only later lines: 30m, 2h, 1d or a date", parseSince)
    .option("--session <id>", "only lines of this session")
    .option("--component <name>", "only lines of this part of the program")
    .option("--json", "print one JSON record a line")
    .action((log, options) => logs(context, log, options));
  return withExamples(command, [
    "hermes logs",
    "hermes logs errors --since 1d",
    "hermes logs --level warn -f",
  ]);
}

async function logs(context: CommandContext, file: LogName, options: LogsOptions): Promise<void> {
  const { terminal, signal } = context;
  const { profile } = await context.openApp();
  const show = (line: LogLine): void => {
    // Also into a pipe: whoever pages through a log is not to obey what a server once said.
    terminal.print(options.json ? asJson(line) : escapeForeignControls(asText(line, terminal.colours)));
  };
  const query = { file, ...options };
  if (options.follow) {
    for await (const line of followLog(profile.logsFolder, query, signal)) show(line);
    return signal.throwIfAborted();
  }
  const found = await readLogTail(profile.logsFolder, query);
  for (const line of found) show(line);
  if (found.length === 0) terminal.note(`Nothing to show in ${profile.logsFolder}.`);
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

function parseLogName(text: string): LogName {
  const name = LOGS.find((candidate) => candidate === text);
  if (name === undefined) throw new InvalidArgumentError(`There are the logs ${LOGS.join(" and ")}.`);
  return name;
}

function parseCount(text: string): number {
  if (!/^\d{1,7}$/.test(text)) throw new InvalidArgumentError("Give a whole number.");
  return Number(text);
}

function parseSince(text: string): Date {
  const [, amount, unit] = /^(\d+)([smhd])$/.exec(text) ?? [];
  const date = amount && unit ? new Date(Date.now() - Number(amount) * (UNITS[unit] ?? 0)) : new Date(text);
  if (Number.isNaN(date.getTime()))
    throw new InvalidArgumentError("Give a time such as 30m, 2h, 1d or 2026-01-31.");
  return date;
}
