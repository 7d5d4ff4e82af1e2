import { hermesArguments, hermesCommand, RUNNERS } from "./commands/hermes-command.ts";
import type { Invocation } from "./shell-reader/invocation.ts";
import type { CommandReading } from "./shell-reader/read-command.ts";
import { UNKNOWN } from "./shell-reader/scope.ts";

const OWN_NAMES = /hermes|main\.cjs/i;
/** Programs that find processes for `kill`. */
const FINDERS = ["pgrep", "pidof", "grep", "awk", "ps"];
const LIFECYCLE = new Set(["stop", "restart", "uninstall", "update", "kill"]);
const SERVICE_TOOLS = new Set(["systemctl", "service", "rc-service", "launchctl", "supervisorctl", "s6-svc"]);

/** Verbs that answer questions and change rules. They are for people: an agent must not answer its own questions. */
const VERBS_OF_PERSONS: Readonly<Record<string, readonly string[]>> = {
  approvals: ["approve", "deny", "answer", "trust"],
  config: ["set", "unset", "edit"],
  kanban: ["answer"],
};

/** Variables that disable questions or mark a command as one of an agent. */
const OWN_VARIABLES = ["HERMES_YOLO_MODE", "HERMES_COMMAND_ID"];
const SETTERS = new Set(["env", "sudo", "doas", "unset", "systemd-run"]);

/** Why a command would stop Hermes or answer for its user, as a sentence; undefined if it would not. */
export function findThreatToOwnProcess(
  readings: readonly Pick<CommandReading, "invocations" | "variables">[],
  ownPids: readonly number[],
): string | undefined {
  const own = readings.flatMap(({ invocations }) => invocations.filter(({ remote }) => !remote));
  if (own.some((one) => isThreat(one, ownPids)))
    return "It would stop or replace Hermes while Hermes runs it.";
  const answers =
    own.some(answersForUser) ||
    own.some(setsOwnVariable) ||
    readings.some(({ variables }) => OWN_VARIABLES.some((name) => variables.has(name)));
  return answers ? "It would decide in the user's place what Hermes may do." : undefined;
}

function answersForUser(invocation: Invocation): boolean {
  const own = hermesArguments(invocation);
  // A copy of Hermes may have any name, so the verbs are checked for every program that is started by its path.
  const isNamedByPath = invocation.program.includes("/") || invocation.name === UNKNOWN;
  const args = own ?? (isNamedByPath || RUNNERS.test(invocation.name) ? invocation.args : undefined);
  if (args === undefined) return false;
  if (own?.some((word) => word === "--yolo" || word.startsWith("--approvals."))) return true;
  const words = args.filter((word) => !word.startsWith("-"));
  // Options such as `-p coder` may stand before the noun.
  const [noun = "", verb = "", key = ""] = words.slice(
    words.findIndex((word) => Object.hasOwn(VERBS_OF_PERSONS, word)),
  );
  if (!Object.hasOwn(VERBS_OF_PERSONS, noun) || !VERBS_OF_PERSONS[noun]?.includes(verb)) return false;
  return noun !== "config" || (verb === "edit" && own !== undefined) || key.startsWith("approvals");
}

function setsOwnVariable({ name, args }: Invocation): boolean {
  return (
    SETTERS.has(name) &&
    args.some((word) => OWN_VARIABLES.includes(word.replace(/^-+[a-zA-Z]*=?/, "").split("=")[0] ?? ""))
  );
}

function isThreat(invocation: Invocation, ownPids: readonly number[]): boolean {
  const { name, args, upstream } = invocation;
  if (name === "pkill" || name === "killall") return args.some((word) => OWN_NAMES.test(word));
  if (name === "kill")
    return (
      args.some((word) => ownPids.includes(Math.abs(Number(word)))) ||
      FINDERS.some((finder) => upstream.find(finder)?.args.some((word) => OWN_NAMES.test(word)))
    );
  if (SERVICE_TOOLS.has(name))
    return args.some((word) => LIFECYCLE.has(word)) && args.some((word) => OWN_NAMES.test(word));
  const { noun, verb = "" } = hermesCommand(invocation) ?? {};
  // Other programs may also have a main.cjs with an `update` command.
  const isCertain = name === "hermes" || args.some((word) => /(?:^|\/)hermes(?:-agent)?$/i.test(word));
  return (
    (noun === "gateway" && LIFECYCLE.has(verb)) || (isCertain && (noun === "update" || noun === "uninstall"))
  );
}
