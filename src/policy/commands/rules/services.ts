import { hasOption, operandsOf, subcommandOf } from "../arguments.ts";
import type { Match } from "../command-classes.ts";
import { hermesCommand } from "../hermes-command.ts";
import type { ClassRule } from "./class-rule.ts";

const SYSTEMCTL_STOPS =
  /^(?:stop|restart|try-restart|reload-or-restart|kill|isolate|disable|mask|revert|set-default|edit|emergency|rescue|suspend|hibernate|daemon-reexec)$/;
const SYSTEMCTL_STARTS = /^(?:enable|reenable|link|preset|add-wants)$/;
const SYSTEMCTL_OPTIONS =
  /^(?:-[HMtnospP]|--(?:host|machine|type|lines|output|state|property|signal|job-mode|root|kill-whom))$/;

/** Stopping services of the machine, and making them start at boot. */
export const checkServices: ClassRule = ({ name, args }) => {
  const stops = (): Match => ({ class: "service-control", effect: "stops, restarts or disables a service" });
  const starts = (): Match => ({ class: "scheduled-task", effect: "makes a service run at every start" });
  switch (name) {
    case "systemctl": {
      const { verb } = subcommandOf(args, SYSTEMCTL_OPTIONS);
      if (SYSTEMCTL_STARTS.test(verb)) return starts();
      return SYSTEMCTL_STOPS.test(verb) ? stops() : undefined;
    }
    case "service":
    case "rc-service":
    case "sv":
      return args.some((word) => /^(?:stop|restart|force-reload|down|force-stop)$/.test(word))
        ? stops()
        : undefined;
    case "initctl":
    case "supervisorctl":
    case "pm2":
    case "s6-svc":
      return /^(?:stop|restart|delete|kill|shutdown|remove)$/.test(subcommandOf(args, /^-c$/).verb)
        ? stops()
        : undefined;
    case "brew":
      return args[0] === "services" && /^(?:stop|restart|kill)$/.test(args[1] ?? "") ? stops() : undefined;
    case "launchctl": {
      const verb = args[0] ?? "";
      if (/^(?:load|bootstrap|enable|submit|kickstart)$/.test(verb)) return starts();
      return /^(?:unload|bootout|disable|stop|kill|remove|reboot)$/.test(verb) ? stops() : undefined;
    }
    case "update-rc.d":
    case "chkconfig":
    case "rc-update":
      return args.length > 1 ? starts() : undefined;
    default:
      return undefined;
  }
};

/** Scheduling commands that run later. */
export const checkSchedules: ClassRule = ({ name, args, upstream, input }) => {
  const later = (effect: string): Match => ({ class: "scheduled-task", effect });
  if (name === "crontab")
    return hasOption(args, /^-[a-z]*l/) ? undefined : later("changes what runs at fixed times");
  if (name === "at" || name === "batch")
    return hasOption(args, /^-[lqcV]/) || (args.length === 0 && upstream.isEmpty && input.length === 0)
      ? undefined
      : later("makes commands run later");
  if (name === "systemd-run" && hasOption(args, /^--(?:on-|timer)/))
    return later("makes a program run later");
  if (name === "schtasks" && hasOption(args, /^\/(?:create|change|delete)$/i))
    return later("changes what runs at fixed times");
  return undefined;
};

/** Ending processes that are selected by a pattern. */
export const checkKills: ClassRule = ({ name, args, upstream }) => {
  const kill = (effect: string): Match => ({ class: "process-kill", effect });
  if (name === "killall" || name === "killall5" || name === "skill")
    return hasOption(args, /^(?:-l|--list|-V|--version|-0)$/)
      ? undefined
      : kill("kills every process with a given name");
  if (name === "pkill" && isForced(args)) return kill("forcibly kills every process that matches a pattern");
  if (name === "pkill" && hasOption(args, /^-[a-zA-Z]*[uUtGP]$|^--(?:uid|euid|group|terminal)/))
    return kill("ends every process of a user, a terminal or a group");
  if (name === "pkill" && isBroad(args)) return kill("ends every process with a common name");
  const search = ["pgrep", "pidof"].map((program) => upstream.find(program)).find((found) => found);
  if (name === "kill" && search && (isForced(args) || isBroad(search.args)))
    return kill("kills every process that matches a pattern");
  if (name === "kill" && isForced(args) && upstream.find("ps"))
    return kill("forcibly kills every process that matches a pattern");
  if (
    name === "fuser" &&
    hasOption(args, /^-[a-zA-Z]*k|^--kill$/) &&
    args.some((word) => /^-[a-zA-Z]*m|^--mount/.test(word))
  )
    return kill("kills every process that uses a file system");
  return undefined;
};

/** Names that many processes share, and patterns that match nearly everything. */
const COMMON_NAMES =
  /^[^\w]*(?:node|nodejs|npm|npx|python[\d.]*|ruby|perl|php|java|deno|bun|go|sh|bash|zsh|fish|ssh|sshd|tmux|screen|code|docker|dockerd|chrome|chromium|firefox|electron|systemd|postgres|mysqld|redis-server|nginx)?[^\w]*$/i;
const MIN_PATTERN_CHARS = 3;

/** Whether `pkill` or `pgrep` would select processes that have nothing to do with the work. */
function isBroad(args: readonly string[]): boolean {
  const patterns = operandsOf(args, /^-(?:s|-signal|g|-pgroup|P|-parent|t|F|-pidfile|-ns|-nslist)$/);
  return patterns.some((word) => word.length < MIN_PATTERN_CHARS || COMMON_NAMES.test(word));
}

function isForced(args: readonly string[]): boolean {
  return args.some(
    (word, at) =>
      /^-(?:9|KILL|SIGKILL|s9|sKILL)$/i.test(word) ||
      /^--signal=(?:9|(?:SIG)?KILL)$/i.test(word) ||
      (/^(?:-s|--signal|-n)$/.test(word) && /^(?:9|(?:SIG)?KILL)$/i.test(args[at + 1] ?? "")),
  );
}

/** Removing traces: conversations, the history of commands, logs. */
export const checkTraces: ClassRule = (invocation) => {
  const { name, args } = invocation;
  const { noun, verb = "" } = hermesCommand(invocation) ?? {};
  if (noun === "sessions" && /^(?:delete|prune)$/.test(verb))
    return {
      class: "trace-removal",
      effect: "removes conversations, with the record of what was done in them",
    };
  if (name === "history" && hasOption(args, /^-[a-z]*[cd]/))
    return { class: "trace-removal", effect: "removes the history of commands" };
  if (name === "journalctl" && hasOption(args, /^--(?:vacuum|rotate)/))
    return { class: "trace-removal", effect: "removes system logs" };
  if ((name === "logrotate" && hasOption(args, /^-[a-z]*f/)) || name === "wevtutil")
    return { class: "trace-removal", effect: "removes system logs" };
  return undefined;
};
