import type { Invocation } from "../shell-reader/invocation.ts";
import { resolvePath } from "./protected-paths.ts";
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
const POWER_VERBS = /^(?:poweroff|reboot|halt|kexec|soft-reboot)$/;
const POWER_TARGETS = /^(?:poweroff|reboot|halt|kexec|soft-reboot)\.target$|^runlevel[06]\.target$/;
const SYSTEM_PROGRAM_FOLDER =
  /^(?:\/usr(?:\/local)?)?\/s?bin\/[^/]+$|^\/run\/current-system\/.*$|^\/usr\/lib\/systemd\/[^/]+$/;

/** `kill` on every process there is. */
export function judgeKill({ name, args }: Invocation): Refusal | undefined {
  if (name !== "kill") return undefined;
  const pids = pidsOf(args);
  if (!pids.includes("-1")) return undefined;
  return {
    rule: "kill-everything",
    effect: "end every process of the user, this one included",
    advice: "End only the processes you mean, by their own ids.",
  };
}

/** The first option is the signal, so `kill -1 42` hangs 42 up; alone, `kill -1` can only mean everything. */
function pidsOf(args: readonly string[]): readonly string[] {
  const [first = "", second = ""] = args;
  if (/^-[lL]|^--(?:list|table|help|version)/.test(first)) return [];
  if (args.length === 1) return args;
  if (/^(?:-[sn]|--signal|-q|--queue)$/.test(first)) return args.slice(second === "" ? 1 : 2);
  return first.startsWith("-") ? args.slice(1) : args;
}

/** Switching the machine off or starting it anew; on another machine that is ordinary work. */
export function judgePower(invocation: Invocation): Refusal | undefined {
  if (invocation.remote || !endsTheSystem(invocation)) return undefined;
  return {
    rule: "power-off",
    effect: "stop or restart the machine, and the agent and everybody's work with it",
    advice: "Restart only the service or program that needs it, or ask the person to restart the machine.",
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
      // Cancels, only warns, or shows what is planned.
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

/** A script of a project may be called `./shutdown`; only the system's own programs count. */
function isSystemProgram({ program, cwd }: Invocation): boolean {
  if (!program.includes("/")) return true;
  const absolute = resolvePath(program, cwd);
  return absolute !== undefined && SYSTEM_PROGRAM_FOLDER.test(absolute);
}

function teeTargets({ name, args }: Invocation): readonly string[] {
  return name === "tee" ? args : [];
}
