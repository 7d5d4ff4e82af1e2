import { CREDENTIAL_PATHS } from "../../lib/files/credential-paths.ts";
import { isDevice } from "../hardline/devices.ts";
import { isPattern, matchesName, resolvePath } from "../hardline/protected-folders.ts";
import { UNKNOWN } from "../shell-reader/scope.ts";
import type { CommandFacts, Match } from "./command-classes.ts";

/** Files and folders with secrets, by the last components of their path. */
const CREDENTIALS = CREDENTIAL_PATHS.map((path) => path.split("/"));
/** The entries by their first component, so that one lookup settles most components of a path. */
const CREDENTIALS_BY_NAME = new Map(
  CREDENTIALS.map(([first = ""]) => [first, CREDENTIALS.filter(([name]) => name === first)]),
);
/** Files next to credentials that contain no secret. */
const PUBLIC_FILES = /\/\.ssh\/(?:known_hosts[^/]*|config|authorized_keys2?|[^/]*\.pub)$|\/\.aws\/config$/;
const PRIVATE_KEY = /^id_(?:rsa|dsa|ecdsa|ed25519)$/;
const SYSTEM_SECRETS =
  /^\/etc\/(?:g?shadow-?|sudoers(?:\.d)?(?:\/.*)?|ssh\/ssh_host_.*_key)$|^\/proc\/(?:\d+|\*)\/(?:environ|mem)$/;

const TOKEN_FILES = /^(?:\.netrc|_netrc|\.pgpass|\.npmrc|\.pypirc|\.git-credentials|\.my\.cnf)$/;
const ENV_FILE = /^\.env(?:rc|\..+)?$/;
const ENV_TEMPLATE = /\.(?:example|sample|template|tmpl|dist|defaults?|schema)$/;
const SECRET_NAMES =
  /\.(?:pem|key|p12|pfx|jks|keystore|kdbx|ppk)$|^(?:secrets?|credentials)\.(?:ya?ml|json|toml|env|txt)$|^service[-_]account[\w-]*\.json$/i;
const STARTUP_FILES =
  /^\.(?:bashrc|bash_profile|bash_login|bash_logout|bash_aliases|profile|zshrc|zprofile|zshenv|zlogin|zlogout|kshrc|cshrc|tcshrc|login|xprofile|xinitrc|xsession|inputrc)$/;
const STARTUP_FOLDERS = [
  ".config/fish",
  ".config/autostart",
  ".config/systemd/user",
  ".config/environment.d",
  "Library/LaunchAgents",
];
const SYSTEM_FOLDERS = new Set(
  "etc usr boot bin sbin lib lib32 lib64 libx32 var opt root proc sys System Library Applications".split(" "),
);
/** Files of a repository from which git runs commands. Sample hooks are not run. */
const GIT_CODE = /\/\.git\/(?:modules\/.+\/)?(?:hooks\/[^/]*(?<!\.sample)|config(?:\.worktree)?)$/;
const PSEUDO_FILES = /^\/(?:proc\/self\/(?:fd|task)\/|var\/(?:tmp|folders)\/)/;
/** Folders of a profile or a board whose files do not determine what Hermes may do. */
const AGENT_WORK_FOLDERS = /^(?:profiles\/[^/]+\/)?(?:cache|logs|sandboxes|(?:.*\/)?workspaces)(?:\/|$)/;
const PROJECT_RULES = /\/\.hermes\/rules\.yaml$/;
const MANAGED_FOLDER = "/etc/hermes";

/** The absolute form of a path. In an unknown folder, a relative path gets an unknown first component. */
export function locate(path: string, cwd: string | undefined): string {
  const rooted = path.startsWith(UNKNOWN) ? `/${path}` : path;
  return resolvePath(rooted, cwd ?? `/${UNKNOWN}`) ?? "/";
}

/** The path relative to a folder that contains it; undefined if the folder does not contain it. */
export function pathBelow(path: string, folder: string): string | undefined {
  if (folder === "/" || folder === "") return undefined;
  return path[folder.length] === "/" && path.startsWith(folder) ? path.slice(folder.length + 1) : undefined;
}

/** Whether a program that reads this path sees a secret. */
export function judgeRead(path: string, cwd: string | undefined, facts: CommandFacts): Match | undefined {
  const absolute = locate(path, cwd);
  return isCredential(absolute, facts)
    ? { class: "credential-access", effect: `reads the credentials in ${path}` }
    : undefined;
}

function isCredential(absolute: string, facts: CommandFacts): boolean {
  const last = absolute.slice(absolute.lastIndexOf("/") + 1);
  return (
    findCredential(absolute, { home: facts.home, homes: agentHomes(facts) }) === "secret" ||
    (PRIVATE_KEY.test(last) && pathBelow(absolute, facts.cwd) === undefined)
  );
}

/**
 * Whether an absolute path is a file with credentials, or a public file next to them. `homes` are homes of profiles. Commands
 * and file tools both use this list.
 */
export function findCredential(
  absolute: string,
  { home, homes }: { readonly home: string | undefined; readonly homes: readonly string[] },
): "secret" | "public" | undefined {
  if (SYSTEM_SECRETS.test(absolute) || absolute === `${home}/.npmrc`) return "secret";
  if (homes.some((one) => isAgentSecret(absolute, one))) return "secret";
  if (!isBelowCredential(absolute)) return undefined;
  return PUBLIC_FILES.test(absolute) ? "public" : "secret";
}

function isBelowCredential(absolute: string): boolean {
  const parts = absolute.split("/");
  const hasPatterns = isPattern(absolute);
  for (let at = 1; at < parts.length; at += 1) {
    const part = parts[at] ?? "";
    const credentials = hasPatterns && isPattern(part) ? CREDENTIALS : CREDENTIALS_BY_NAME.get(part);
    if (credentials?.some((names) => startsWithNames(parts, at, names))) return true;
  }
  return false;
}

/** Whether a path is a file of Hermes that determines what Hermes may do: settings, secrets, rules, databases. */
function isAgentFile(absolute: string, facts: CommandFacts): boolean {
  if (PROJECT_RULES.test(absolute) || isWithin(absolute, MANAGED_FOLDER)) return true;
  return agentHomes(facts).some((home) => {
    const inside = patternBelow(absolute, home);
    return inside !== undefined && !AGENT_WORK_FOLDERS.test(inside);
  });
}

/** The home of the profile, and the home with all profiles. */
function agentHomes({ hermesHome }: CommandFacts): readonly string[] {
  if (!hermesHome.includes("/profiles/")) return [hermesHome];
  const root = /^(.+)\/profiles\/[^/]+$/.exec(hermesHome)?.[1];
  return root === undefined ? [hermesHome] : [root, hermesHome];
}

/** The path relative to a folder that is or contains it; names in the path may be glob patterns. */
function patternBelow(path: string, folder: string): string | undefined {
  if (folder === "" || folder === "/") return undefined;
  if (!isPattern(path)) return path === folder ? "" : pathBelow(path, folder);
  const parts = path.split("/");
  const names = folder.split("/");
  if (parts.length < names.length) return undefined;
  const isBelow = names.every((name, at) => {
    const part = parts[at] ?? "";
    return part === name || (/[a-z]/i.test(part) && matchesName(part, name));
  });
  return isBelow ? parts.slice(names.length).join("/") : undefined;
}

function isWithin(path: string, folder: string): boolean {
  return path.startsWith(folder) && (path.length === folder.length || path[folder.length] === "/");
}

/** Whether a link to this path would give settings of Hermes a second path. */
export function judgeLinked(path: string, cwd: string | undefined, facts: CommandFacts): Match | undefined {
  const absolute = locate(path, cwd);
  const contains = [...agentHomes(facts), MANAGED_FOLDER].some((home) => isWithin(home, absolute));
  return contains || absolute === "/" || isAgentFile(absolute, facts)
    ? { class: "agent-settings-write", effect: `links to the settings of Hermes in ${path}` }
    : undefined;
}

function isAgentSecret(absolute: string, home: string): boolean {
  const inside = pathBelow(absolute, home);
  return (
    inside !== undefined &&
    /^(?:profiles\/[^/]+\/)?(?:\.env|auth\.json|(?:mcp-tokens|pairing)(?:\/.*)?)$/.test(inside)
  );
}

function startsWithNames(parts: readonly string[], at: number, names: readonly string[]): boolean {
  return names.every((name, index) => {
    const part = parts[at + index] ?? "";
    // A pattern without letters, such as `.*`, means "all files" and is no disguise.
    return part === name || (isPattern(part) && /[a-z]/i.test(part) && matchesName(part, name));
  });
}

/** Whether a file is likely to contain keys, passwords or tokens of a project, judging by its name. */
export function isSecretFile(path: string): boolean {
  const last = path.split("/").at(-1) ?? "";
  return isEnvFile(path) || PRIVATE_KEY.test(last) || SECRET_NAMES.test(last);
}

/** Whether a file is a .env file with values, not a template for one. */
export function isEnvFile(path: string): boolean {
  const last = path.split("/").at(-1) ?? "";
  return ENV_FILE.test(last) && !ENV_TEMPLATE.test(last);
}

/** Whether a file is a template for a .env file, without secrets. */
export function isEnvTemplate(path: string): boolean {
  const last = path.split("/").at(-1) ?? "";
  return ENV_FILE.test(last) && ENV_TEMPLATE.test(last);
}

/** Whether writing this path goes beyond the usual work in a project. */
export function judgeWrite(path: string, cwd: string | undefined, facts: CommandFacts): Match | undefined {
  const absolute = locate(path, cwd);
  const parts = absolute.split("/").slice(1);
  const last = parts.at(-1) ?? "";
  const effect = `changes ${path}`;
  if (isAgentFile(absolute, facts))
    return { class: "agent-settings-write", effect: `changes the settings or secrets of Hermes in ${path}` };
  if (TOKEN_FILES.test(last) || isCredential(absolute, facts) || parts.includes(".ssh"))
    return { class: "credential-write", effect };
  if (GIT_CODE.test(absolute)) return { class: "injected-code", effect: `${effect}, which git runs` };
  const atHome = facts.home === undefined ? undefined : pathBelow(absolute, facts.home);
  if (isStartupFile(atHome, parts)) return { class: "startup-file-write", effect };
  if (/^\.(?:bash|zsh|python|node_repl|psql|mysql)_history$/.test(last))
    return { class: "trace-removal", effect: `changes the history of commands in ${path}` };
  if (isEnvFile(absolute)) return { class: "env-file-write", effect };
  if (isDevice(absolute, undefined)) return { class: "disk-write", effect: `writes the device ${path}` };
  if (pathBelow(absolute, facts.cwd) !== undefined || atHome !== undefined) return undefined;
  if (absolute.startsWith("/var/log/")) return { class: "trace-removal", effect: `changes the log ${path}` };
  if (SYSTEM_FOLDERS.has(parts[0] ?? "") && !PSEUDO_FILES.test(`${absolute}/`))
    return { class: "system-file-write", effect: `changes the system file ${path}` };
  return undefined;
}

function isStartupFile(atHome: string | undefined, parts: readonly string[]): boolean {
  const last = parts.at(-1) ?? "";
  if (STARTUP_FILES.test(last) && (atHome === last || parts[0] === UNKNOWN || parts[0] === "root"))
    return true;
  return (
    atHome !== undefined &&
    STARTUP_FOLDERS.some((folder) => atHome === folder || atHome.startsWith(`${folder}/`))
  );
}
