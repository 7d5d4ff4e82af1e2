import type { Invocation } from "../shell-reader/invocation.ts";
import { resolvePath } from "./protected-folders.ts";
import type { Refusal } from "./refusal.ts";

const POWER_PROGRAMS = new Set([
  "shutdown",
  "reboot",
  "halt",
  "poweroff",
  "init",
  "telinit",
  "systemctl",
  "loginctl",
]);
/** Signals to the first process that do not end it: requests such as a reload, and the test whether it exists. */
const HARMLESS_SIGNAL =
  /^-(?:0|1|HUP|SIGHUP|USR[12]|10|12|WINCH|CHLD|s (?:0|HUP|SIGHUP|USR[12])|n (?:0|1))\b/i;
const POWER_VERBS = /^(?:poweroff|reboot|halt|kexec|soft-reboot)$/;
const POWER_TARGETS = /^(?:poweroff|reboot|halt|kexec|soft-reboot)\.target$|^runlevel[06]\.target$/;
const SYSTEM_PROGRAM_FOLDER =
  /^(?:\/usr(?:\/local)?)?\/s?bin\/[^/]+$|^\/run\/current-system\/.*$|^\/usr\/lib\/systemd\/[^/]+$/;

/** Refuses `kill` on all processes of the user, and on the first process, which ends all others with it. */
export function checkKill({ name, args, remote }: Invocation): Refusal | undefined {
  if (name !== "kill") return undefined;
  const pids = pidsOf(args);
  if (pids.includes("1") && !remote && !HARMLESS_SIGNAL.test(args.slice(0, 2).join(" ")))
    return {
      rule: "kill-everything",
      effect: "end the first process of the system, and with it all others",
      advice: "End only the intended processes, by their own ids.",
    };
  if (!pids.includes("-1")) return undefined;
  return {
    rule: "kill-everything",
    effect: "end every process of the user, this one included",
    advice: "End only the intended processes, by their own ids.",
  };
}

/** The first option is the signal, so `kill -1 42` sends SIGHUP to 42. Only `kill -1` alone means all processes. */
function pidsOf(args: readonly string[]): readonly string[] {
  const [first = "", second = ""] = args;
  if (/^-[lL]|^--(?:list|table|help|version)/.test(first)) return [];
  if (args.length === 1) return args;
  if (/^(?:-[sn]|--signal|-q|--queue)$/.test(first)) return args.slice(second === "" ? 1 : 2);
  return first.startsWith("-") ? args.slice(1) : args;
}

/** Refuses to shut down or restart this machine; doing so to a remote machine is allowed. */
export function checkPower(invocation: Invocation): Refusal | undefined {
  if (invocation.remote || !endsTheSystem(invocation)) return undefined;
  return {
    rule: "power-off",
    effect: "stop or restart the machine, and with it the agent and all other work",
    advice: "Restart only the service or program that needs it, or ask the user to restart the machine.",
  };
}

function endsTheSystem(invocation: Invocation): boolean {
  const { name, args, files, cwd } = invocation;
  const trigger = [
    ...files.filter(({ operator }) => operator.includes(">")).map(({ path }) => path),
    ...teeTargets(invocation),
  ];
  if (trigger.some((path) => resolvePath(path, cwd) === "/proc/sysrq-trigger")) return true;
  if (!POWER_PROGRAMS.has(name) || !isSystemProgram(invocation)) return false;
  if (args.some((word) => word === "--help" || word === "--version")) return false;
  const operands = args.filter((word) => !word.startsWith("-"));
  switch (name) {
    case "init":
    case "telinit":
      return operands[0] === "0" || operands[0] === "6";
    case "systemctl":
    case "loginctl":
      return (
        operands.some((word) => POWER_VERBS.test(word) || POWER_TARGETS.test(word)) && !isQuery(operands)
      );
    case "shutdown":
      // These options cancel a shutdown, only warn, or show the schedule.
      return !args.some((word) => /^-[ck]$|^--show$/.test(word));
    default:
      return !args.some((word) => word === "-w" || word === "--wtmp-only");
  }
}

function isQuery(operands: readonly string[]): boolean {
  return (
    !operands.some((word) => POWER_VERBS.test(word)) && !/^(?:start|isolate|restart)$/.test(operands[0] ?? "")
  );
}

/** Whether the program is the system's own: a project may have a script called `./shutdown`. */
function isSystemProgram({ program, cwd }: Invocation): boolean {
  if (!program.includes("/")) return true;
  const absolute = resolvePath(program, cwd);
  return absolute !== undefined && SYSTEM_PROGRAM_FOLDER.test(absolute);
}

function teeTargets({ name, args }: Invocation): readonly string[] {
  return name === "tee" ? args : [];
}
