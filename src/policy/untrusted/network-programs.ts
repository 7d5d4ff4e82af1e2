import { hostsOf } from "../command-effects.ts";
import { hasOption, operandsOf, subcommandOf } from "../commands/arguments.ts";
import { formatInvocation, type Invocation } from "../shell-reader/invocation.ts";
import type { CommandReading } from "../shell-reader/read-command.ts";

/** Programs that ask other machines and show or store what these answer. */
const FETCHERS =
  /^(?:curl|wget|aria2c|https?|xh|lynx|w3m|e?links|fetch|nc|ncat|netcat|socat|telnet|ftp|yt-dlp|youtube-dl)$/;
const CLIENTS =
  /^(?:t?ftp|lftp|ncftp(?:put)?|ssh|autossh|scp|sftp|mosh|mailx?|s-nail|mutt|neomutt|sendmail|msmtp|swaks|dig|nslookup|host|drill|ping6?|traceroute6?|rclone|gsutil|s3cmd|s5cmd|aws|gcloud|az|ngrok|cloudflared|xdg-open|sensible-browser|firefox|chromium(?:-browser)?|google-chrome(?:-stable)?|websocat|wscat|grpcurl|mosquitto_pub|twine|svn)$/;
const FORGES = /^(?:gh|glab|hub|tea)$/;
/** Verbs of a forge's program that only ask. */
const FORGE_READS =
  /^(?:view|list|ls|status|diff|checks|search|show|browse|help|version|auth|clone|checkout)$/;
const GIT_OPTIONS = /^-[cC]$|^--(?:git-dir|work-tree|namespace)$/;
const GIT_REMOTE_VERBS = /^(?:clone|fetch|pull|ls-remote|remote|submodule|archive|svn|lfs)$/;
const PACKAGE_TOOLS =
  /^(?:npm|pnpm|yarn|bun|pip[\d.]*|pipx|uv|poetry|conda|mamba|gem|cargo|go|composer|brew|apt|apt-get|dnf|yum|apk|pacman)$/;
const PACKAGE_VERBS =
  /^(?:i|install|add|get|exec|x|dlx|create|init|download|require|publish|global|tool|pip|reinstall|upgrade)$/;
/** Options that name a file of the project or a folder. */
const FROM_FILE = /^(?:-[recCf]|--(?:requirement|editable|constraint|prefix|file))$/;
const LOOPBACK = /^(?:localhost|.+\.localhost|127(?:\.\d{1,3}){3}|\[?::1\]?|0\.0\.0\.0)$/i;
/** Options with which a request goes elsewhere than its address says. */
const REDIRECTING =
  /^-[a-zA-Z]*[xKe]|^--(?:proxy.*|preproxy|socks.*|connect-to|resolve|config|doh-url|(?:abstract-)?unix-socket|execute)(?:=|$)/;

/** How a program sends something to another machine, as the end of a sentence; undefined if it does not. */
export function findSending(
  invocation: Invocation,
  variables: CommandReading["variables"],
): string | undefined {
  const { name, args } = invocation;
  if (args.length > 0 && args.every((word) => /^-+(?:version|help|V|h)$/.test(word))) return undefined;
  if (name === "git") return findGitSending(invocation);
  if (FORGES.test(name)) {
    const [noun = "", verb = noun] = operandsOf(args);
    const reads =
      FORGE_READS.test(verb) ||
      (noun === "api" && !hasOption(args, /^-[fFX]|^--(?:raw-)?field|^--(?:input|method)/));
    return reads ? undefined : "writes to a server";
  }
  if (PACKAGE_TOOLS.test(name)) {
    const { verb, rest } = subcommandOf(args);
    const names = operandsOf(rest, FROM_FILE).filter((word) => !/^\.{0,2}\/|^\.$/.test(word));
    if (verb === "publish") return "publishes a package";
    return PACKAGE_VERBS.test(verb) && names.length > 0 ? "downloads and runs a package" : undefined;
  }
  const hosts = hostsOf(invocation).filter((host) => !LOOPBACK.test(host));
  if (hosts.length > 0) return `contacts ${hosts[0]}`;
  if (!FETCHERS.test(name) && !CLIENTS.test(name)) return undefined;
  return isLocal(invocation, variables) ? undefined : "contacts another machine";
}

/** Whether all addresses of a program are on this machine, and nothing sends its requests elsewhere. */
function isLocal(invocation: Invocation, variables: CommandReading["variables"]): boolean {
  return (
    hostsOf(invocation).length > 0 &&
    !hasOption(invocation.args, REDIRECTING) &&
    ![...variables.keys()].some((name) => /proxy/i.test(name))
  );
}

function findGitSending(invocation: Invocation): string | undefined {
  const { verb } = subcommandOf(invocation.args, GIT_OPTIONS);
  if (verb === "push" || verb === "send-email") return "sends commits to another repository";
  const [host] = GIT_REMOTE_VERBS.test(verb) ? hostsOf(invocation) : [];
  return host === undefined || LOOPBACK.test(host) ? undefined : `contacts ${host}`;
}

/** The programs of a command whose output or files come from other machines, as text. */
export function findFetching({ invocations, variables }: Pick<CommandReading, "invocations" | "variables">) {
  return invocations.filter((one) => fetches(one, variables)).map(formatInvocation);
}

function fetches(invocation: Invocation, variables: CommandReading["variables"]): boolean {
  const { name, args } = invocation;
  if (FORGES.test(name))
    return (
      findSending(invocation, variables) !== undefined ||
      !/^(?:auth|help|version)$/.test(operandsOf(args)[0] ?? "")
    );
  const isClone = name === "git" && subcommandOf(args, GIT_OPTIONS).verb === "clone";
  return (isClone || FETCHERS.test(name)) && findSending(invocation, variables) !== undefined;
}
