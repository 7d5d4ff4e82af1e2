import { hostsOf } from "../command-effects.ts";
import { hasOption, operandsOf, subcommandOf, valuesOfOption } from "../commands/arguments.ts";
import { formatInvocation, type Invocation } from "../shell-reader/invocation.ts";
import type { CommandReading } from "../shell-reader/read-command.ts";
import { runsNamedPackage } from "./package-runs.ts";

/** Programs that request data from other machines, and print or store it. */
const FETCHERS =
  /^(?:curl|wget|aria2c|https?|xh|lynx|w3m|e?links|fetch|nc|ncat|netcat|socat|telnet|ftp|yt-dlp|youtube-dl)$/;
const CLIENTS =
  /^(?:t?ftp|lftp|ncftp(?:put)?|ssh|autossh|scp|sftp|mosh|mailx?|s-nail|mutt|neomutt|sendmail|msmtp|swaks|dig|nslookup|host|drill|ping6?|traceroute6?|rclone|gsutil|s3cmd|s5cmd|aws|gcloud|az|ngrok|cloudflared|xdg-open|sensible-browser|firefox|chromium(?:-browser)?|google-chrome(?:-stable)?|websocat|wscat|grpcurl|mosquitto_pub|twine|svn|lwp-request|GET|POST)$/;
const DATABASE_CLIENTS = /^(?:psql|mysql|mariadb|redis-cli|mongosh?|sqlcmd|cqlsh|clickhouse-client)$/;
const FORGES = /^(?:gh|glab|hub|tea)$/;
/** Verbs of a forge's command-line tool that only read. */
const FORGE_READS = /^(?:view|list|ls|status|diff|checks|search|show|browse|help|version|auth|clone)$/;
const GIT_OPTIONS = /^-[cC]$|^--(?:git-dir|work-tree|namespace)$/;
const GIT_REMOTE_VERBS = /^(?:clone|fetch|pull|ls-remote|remote|submodule|archive|svn|lfs|config)$/;
const PACKAGE_TOOLS =
  /^(?:npm|pnpm|yarn|bun|pip[\d.]*|pipx|uv|poetry|conda|mamba|gem|cargo|go|composer|brew|apt|apt-get|dnf|yum|apk|pacman)$/;
const PACKAGE_VERBS =
  /^(?:i|install|add|get|exec|x|dlx|create|init|download|require|publish|global|tool|pip|reinstall|upgrade)$/;
/** Options that name a file of the project or a folder. */
const FROM_FILE = /^(?:-[recCf]|--(?:requirement|editable|constraint|prefix|file))$/;
const LOOPBACK = /^(?:localhost|.+\.localhost|127(?:\.\d{1,3}){3}|\[?::1\]?|0\.0\.0\.0)$/i;
/** Options that send a request to a machine other than the one in its address. */
const REDIRECTING =
  /^-[a-zA-Z]*[xKe]|^--(?:proxy.*|preproxy|socks.*|connect-to|resolve|config|doh-url|(?:abstract-)?unix-socket|execute)(?:=|$)/;

/** How a program contacts another machine, as the end of a sentence; undefined if it does not. */
export function findSending(invocation: Invocation): string | undefined {
  const { name, args } = invocation;
  if (args.length > 0 && args.every((word) => /^-+(?:version|help|V|h)$/.test(word))) return undefined;
  if (name === "git") return findGitSending(invocation);
  if (FORGES.test(name)) {
    const [noun = "", verb = noun] = operandsOf(args);
    const reads =
      FORGE_READS.test(verb) ||
      (noun === "api" && !hasOption(args, /^-[fFX]|^--(?:raw-)?field|^--(?:input|method)/));
    if (reads) return undefined;
    if (verb === "checkout" || verb === "co") return BRINGS_COMMITS;
    if (verb === "download") return "downloads files from a server";
    return noun === "extension" ? "installs a program from a server" : "uses an account on a server";
  }
  if (PACKAGE_TOOLS.test(name)) {
    const { verb, rest } = subcommandOf(args);
    const names = operandsOf(rest, FROM_FILE).filter((word) => !/^\.{0,2}\/|^\.$/.test(word));
    if (verb === "publish") return "publishes a package";
    if (PACKAGE_VERBS.test(verb) && names.length > 0) return "downloads a package, which may run code";
  }
  if (runsNamedPackage(invocation)) return "downloads a package, which may run code";
  const hosts = hostsOf(invocation).filter((host) => !LOOPBACK.test(host));
  if (hosts.length > 0) return `contacts ${hosts[0]}`;
  if (CLIENTS.test(name) || isClientByWords(invocation)) return "contacts another machine";
  if (!FETCHERS.test(name)) return undefined;
  return isLocal(invocation) ? undefined : "contacts another machine";
}

/** Whether a program contacts another machine because of its arguments. */
function isClientByWords({ name, args }: Invocation): boolean {
  if (DATABASE_CLIENTS.test(name))
    return valuesOfOption(args, "h", "--host").some((host) => !LOOPBACK.test(host));
  switch (name) {
    case "openssl":
      return args[0] === "s_client";
    case "getent":
      return /^a?hosts/.test(args[0] ?? "");
    case "logger":
      return hasOption(args, /^-[a-zA-Z]*n|^--server/);
    case "docker":
    case "podman":
      return /^(?:pull|push|login|search)$/.test(subcommandOf(args).verb);
    case "awk":
    case "gawk":
      return args.some((word) => word.includes("/inet"));
    default:
      return false;
  }
}

/** Whether a command sets a proxy for its programs. */
export function setsProxy({
  invocations,
  variables,
}: Pick<CommandReading, "invocations" | "variables">): boolean {
  return (
    [...variables.keys()].some((name) => /proxy$/i.test(name)) ||
    invocations.some(({ args }) => args.some((word) => /^\w{0,12}proxy=/i.test(word)))
  );
}

/** Whether all addresses of a program are on this machine, and no option sends the requests elsewhere. */
function isLocal(invocation: Invocation): boolean {
  return hostsOf(invocation).length > 0 && !hasOption(invocation.args, REDIRECTING);
}

function findGitSending(invocation: Invocation): string | undefined {
  const { verb, rest } = subcommandOf(invocation.args, GIT_OPTIONS);
  if (verb === "push" || verb === "send-email") return "sends commits to another repository";
  const [host] = GIT_REMOTE_VERBS.test(verb) ? hostsOf(invocation) : [];
  if (host !== undefined && !LOOPBACK.test(host)) return `contacts ${host}`;
  return bringsCommits(verb, rest) ? BRINGS_COMMITS : undefined;
}

const BRINGS_COMMITS = "brings commits of another repository into this one";
/** Names of fetched commits: FETCH_HEAD, branches of remotes with common names, and the upstream of a branch. */
const FETCHED =
  /^(?:FETCH_HEAD|(?:refs\/)?(?:remotes\/)?(?:origin|upstream|fork)\/.+|.*@\{(?:u|upstream)\})(?:[~^].*)?$/i;
/** A refspec that fetches a proposed change, or that creates a local branch. */
const PROPOSED = /^\+?(?:refs\/)?(?:pull|merge-requests|changes)\/|^[^:]+:[^:]/;

/**
 * Whether git puts commits of a configured remote where the project uses them: in the working tree or in a local branch.
 * A plain fetch does not.
 */
function bringsCommits(verb: string, rest: readonly string[]): boolean {
  const operands = operandsOf(rest);
  const namesFetched = (): boolean =>
    operands.some((word) => FETCHED.test(word)) ||
    valuesOfOption(rest, "s", "--source").some((word) => FETCHED.test(word));
  switch (verb) {
    case "pull":
      return true;
    case "fetch":
      return operands.some((word) => PROPOSED.test(word));
    case "remote":
      return operands[0] === "update";
    case "submodule":
      return /^(?:add|update)$/.test(operands[0] ?? "");
    case "merge":
    case "rebase":
      // Without an operand, both use the upstream of the branch.
      return (
        namesFetched() ||
        (operands.length === 0 &&
          !hasOption(rest, /^--(?:abort|continue|quit|skip|edit-todo|show-current-patch|root)$/))
      );
    case "branch":
      return operands.length > 1 && namesFetched();
    case "checkout":
    case "switch":
    case "reset":
    case "restore":
    case "cherry-pick":
    case "worktree":
      return namesFetched();
    default:
      return false;
  }
}

/** The parts of a command that fetch data from other machines. */
export function findFetching(invocations: readonly Invocation[]): readonly string[] {
  return invocations.filter(fetches).map(formatInvocation);
}

function fetches(invocation: Invocation): boolean {
  const { name, args } = invocation;
  if (FORGES.test(name))
    return (
      findSending(invocation) !== undefined || !/^(?:auth|help|version)$/.test(operandsOf(args)[0] ?? "")
    );
  const isClone = name === "git" && subcommandOf(args, GIT_OPTIONS).verb === "clone";
  return (isClone || FETCHERS.test(name)) && findSending(invocation) !== undefined;
}
