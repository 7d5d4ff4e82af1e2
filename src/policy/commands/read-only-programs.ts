import { unwrapCommand } from "../shell-reader/programs/unwrap-command.ts";
import { UNKNOWN } from "../shell-reader/scope.ts";
import { hasOption, operandsOf, subcommandOf } from "./arguments.ts";
import { ENGINE_OPTIONS } from "./rules/containers.ts";
import { GIT_OPTIONS } from "./rules/git.ts";

/** Programs that change nothing, whatever their arguments are. */
const HARMLESS = new Set(
  `ls dir cat tac nl head tail wc cut paste join comm tr rev fold fmt column expand unexpand cmp diff diff3 colordiff hexdump
  stat du df pwd cd pushd popd dirs realpath readlink basename dirname which whereis type whatis apropos echo printf true
  false : test [ [[ ( seq sleep expr factor nproc arch uname hostid whoami id groups users who w uptime free vmstat lscpu
  lsblk lsusb lspci lsmod ps pgrep pidof pstree netstat getconf locale tty sha1sum sha224sum sha256sum sha384sum
  sha512sum md5sum cksum b2sum shasum od strings nm size readelf grep egrep fgrep zgrep zcat bzcat xzcat jq
  exa eza tokei cloc scc look tsort break continue return exit shift read wait getopts local unset set shopt
  umask jobs times ulimit caller command builtin nice ionice stdbuf timeout printenv`.split(/\s+/),
);
/** Programs that change nothing unless an argument matches. An argument with an unknown beginning could match. */
const HARMLESS_WITHOUT: Readonly<Record<string, RegExp>> = {
  find: /^-(?:delete|exec|execdir|ok|okdir|fprint|fprint0|fprintf|fls)$/,
  fd: /^-[a-zA-Z]*[xX]|^--exec/,
  fdfind: /^-[a-zA-Z]*[xX]|^--exec/,
  rg: /^--(?:pre|hostname-bin|search-zip)|^-[a-zA-Z]*z/,
  ag: /^--pager/,
  sort: /^-[a-zA-Z]*[oT]|^--(?:o|co|t)/,
  ss: /^-[a-zA-Z]*[KD]|^--(?:k|di)/,
  lsof: /^-[a-zA-Z]*D/,
  time: /^-[a-zA-Z]*o|^--o/,
  tree: /^-[a-zA-Z]*o|^--output/,
  bat: /^--(?:pager|generate-config)|^cache$/,
  yq: /^-[a-zA-Z]*[is]|^--(?:inplace|in-place|split-exp)/,
  file: /^-[a-zA-Z]*C|^--c/,
  date: /^-[a-zA-Z]*s|^--s|^\d{8,}/,
  hostname: /^[^-]|^-[a-zA-Z]*[Fb]/,
  dmesg: /^-[a-zA-Z]*[cCDEn]|^--(?:clear|read-clear|console)/,
  history: /^-/,
  journalctl: /^--(?:va|ro|fl|sy|set|up|rel|sm|cursor-f)/,
  env: /^-[a-zA-Z]*S|^--s/,
  less: /^-[a-zA-Z]*[oOkK]|^\+|^--l/i,
  man: /^-[a-zA-Z]*[PCH]|^--(?:p|h|c)/,
};
const PIP: readonly [RegExp, RegExp] = [
  /^(?:list|show|freeze|check|--version|-V|inspect)$/,
  /^--(?:lo|ca|py|us|pr|i|ex|f)/, // writes a log or a cache, starts another Python, or asks a server
];
/** Programs that change nothing with these verbs, unless an argument matches the second pattern. */
const HARMLESS_VERBS: Readonly<Record<string, readonly [RegExp, RegExp, RegExp?]>> = {
  npm: [
    /^(?:ls|list|ll|la|why|explain|root|prefix|version|--version|-v)$/,
    /^(?:patch|minor|major|pre\w*|from-git|\d.*)$|^--(?:cac|logs|node|script|userc|globalc)/,
  ],
  pnpm: [/^(?:ls|list|ll|la|why|root|bin|--version|-v)$/, /^$/],
  yarn: [/^(?:list|why|--version|-v)$/, /^$/],
  pip: PIP,
  pip3: PIP,
  cargo: [/^(?:locate-project|--version|-V|pkgid)$/, /^$/],
  go: [/^(?:version|env|doc)$/, /^-(?:w|u|exec|toolexec|modfile)/],
  rustup: [/^(?:show|--version)$/, /^$/],
  gem: [/^(?:list|which|specification|contents|dependency)$/, /^$/],
  bundle: [/^(?:list|show|info|platform)$/, /^$/],
  brew: [/^(?:list|ls|leaves|--version|--prefix|config)$/, /^$/],
  apt: [/^(?:list|show|search|policy)$/, /^$/],
  "apt-cache": [/^/, /^$/],
  dpkg: [
    /^(?:-[lLsS]|--(?:list|listfiles|status|search))$/,
    /^-(?:i|r|P)|^--(?:install|remove|purge|configure|unpack)/,
  ],
  rpm: [/^-q/, /^-[eiUF]|^--(?:erase|install|upgrade|eval|pipe)/],
  systemctl: [/^(?:status|list-.*|show|cat|is-.*|get-default)$/, /^-[a-zA-Z]*[HM]|^--(?:ho|ma)/],
  docker: [/^(?:ps|logs|images|inspect|version|info|stats|top|port|diff|history|events)$/, /^$/],
  podman: [/^(?:ps|logs|images|inspect|version|info|stats|top|port|diff|history)$/, /^$/],
  kubectl: [
    /^(?:get|describe|logs|top|explain|version|api-resources|api-versions|cluster-info|events)$/,
    /^--(?:output-directory|raw|log-|profile|cache-dir)/,
    /^(?:-n|--(?:namespace|context|kubeconfig))$/,
  ],
  helm: [
    /^(?:list|ls|status|get|history|template|lint|version)$/,
    /^--(?:output-dir|post-renderer)/,
    /^(?:-n|--namespace|--kube-context)$/,
  ],
  terraform: [/^(?:version|show|output|validate|providers|graph)$/, /^$/],
  gh: [/^(?:--version|version)$/, /^$/],
  crontab: [/^-l$/, /^-(?!l)/],
};
const GIT_READING = new Set(
  `status log diff show blame annotate ls-files ls-tree rev-parse rev-list describe shortlog name-rev merge-base cat-file
  show-ref for-each-ref grep count-objects cherry whatchanged diff-tree diff-index diff-files show-branch var version
  --version check-ignore check-attr verify-commit verify-tag range-diff`.split(/\s+/),
);
const GIT_WRITING_OPTIONS = /^--(?:ou|ext|textc|open|exec|filters)|^-O/;

/** Whether a program with these arguments is known to change nothing. For shells and wrappers, what they start decides. */
export function isHarmlessProgram(name: string, args: readonly string[]): boolean {
  if (name === "git") return isHarmlessGit(args);
  if (/^g?sed$/.test(name)) return isHarmlessSed(args);
  if (/^[gmn]?awk$/.test(name)) return isHarmlessAwk(args);
  if (name === "xargs") return isHarmlessList(args);
  if (name === "tar" || name === "unzip") return isHarmlessArchive(name, args);
  if (name === "ip") return isHarmlessIp(args);
  if (name === "uniq") return operandsOf(args, /^-[fsw]$/).length < 2 && !args.some(startsUnknown);
  if (
    args.length === 1 &&
    /^--(?:version|help)$/.test(args[0] ?? "") &&
    /^(?:node|python3?|ruby|perl|php|java|gcc|make|rustc|deno|bun|tsc)$/.test(name)
  )
    return true;
  if (args.length === 1 && args[0] === "-v" && name === "node") return true;
  const verbs = Object.hasOwn(HARMLESS_VERBS, name) ? HARMLESS_VERBS[name] : undefined;
  if (verbs) return isHarmlessVerb(name, args, verbs);
  const forbidden = Object.hasOwn(HARMLESS_WITHOUT, name) ? HARMLESS_WITHOUT[name] : undefined;
  if (forbidden) return !args.some((word) => forbidden.test(word) || startsUnknown(word));
  return HARMLESS.has(name);
}

function startsUnknown(word: string): boolean {
  return word.startsWith(UNKNOWN);
}

function isHarmlessVerb(
  name: string,
  args: readonly string[],
  [verbs, forbidden, valued]: readonly [RegExp, RegExp, RegExp?],
): boolean {
  const isLeading = /^-/.test(args[0] ?? "") && verbs.test(args[0] ?? "");
  const options = valued ?? (/^(?:docker|podman)$/.test(name) ? ENGINE_OPTIONS : undefined);
  const { verb, rest } = isLeading
    ? { verb: args[0] ?? "", rest: args.slice(1) }
    : subcommandOf(args, options);
  if (
    /^(?:docker|podman)$/.test(name) &&
    hasOption(args.slice(0, args.indexOf(verb)), /^-H|^--(?:host|context|config)/)
  )
    return false;
  if (verb === "version" && name === "npm" && rest.length > 0) return false;
  if (verb === "compose" && name === "docker")
    return (
      /^(?:ps|logs|config|images|top|ls|version)$/.test(subcommandOf(rest, ENGINE_OPTIONS).verb) &&
      !hasOption(rest, /^(?:-o|--output)/)
    );
  const others = [...args.slice(0, args.indexOf(verb)), ...rest];
  return verbs.test(verb) && !others.some((word) => forbidden.test(word) || startsUnknown(word));
}

function isHarmlessGit(args: readonly string[]): boolean {
  // A setting on the command line can name a program, and another repository can have hooks and filters.
  if (args.some(startsUnknown) || hasOption(args, /^--(?:exec-path|config-env)/)) return false;
  const { verb, rest } = subcommandOf(args, GIT_OPTIONS);
  const settings = args.slice(0, args.indexOf(verb)).filter((_, at, own) => own[at - 1] === "-c");
  if (
    !settings.every((setting) =>
      /^(?:color\.[\w.]+=\w+|core\.pager=(?:cat|less)?|core\.quotepath=\w+|diff\.\w+=\w+)$/i.test(setting),
    )
  )
    return false;
  if (rest.some((word) => GIT_WRITING_OPTIONS.test(word))) return false;
  if (GIT_READING.has(verb)) return true;
  const operands = operandsOf(rest);
  switch (verb) {
    case "branch":
    case "tag":
      return (
        rest.every((word) =>
          /^(?:-[avrl]+|--(?:all|list|remotes|show-current|verbose|merged|no-merged|contains|sort=.*|format=.*|points-at)|-n\d*)$/.test(
            word,
          ),
        ) ||
        (hasOption(rest, /^(?:-l|--list|--merged|--no-merged|--contains)$/) &&
          !hasOption(rest, /^-[dDmMcCfu]|^--(?:delete|move|copy|force|set-|unset-|edit)/))
      );
    case "remote":
      return operands.length === 0 || /^(?:get-url)$/.test(operands[0] ?? "");
    case "stash":
      return /^(?:list|show)$/.test(rest[0] ?? "");
    case "worktree":
    case "submodule":
      return /^(?:list|status|summary)$/.test(rest[0] ?? "");
    case "reflog":
      return rest.length === 0 || rest[0] === "show" || (rest[0] ?? "").startsWith("-");
    case "config":
      return (
        hasOption(rest, /^(?:--get|--get-all|--get-regexp|-l|--list|--show-origin)$/) &&
        !hasOption(rest, /^--(?:unset|add|replace|edit|rename|remove)/)
      );
    case "bisect":
      return /^(?:log|view)$/.test(rest[0] ?? "");
    default:
      return false;
  }
}

/** A script of sed is read-only if it has no `w`, `W`, `e` or `r` command; only simple scripts are accepted. */
function isHarmlessSed(args: readonly string[]): boolean {
  if (args.some(startsUnknown) || hasOption(args, /^-[a-zA-Z]*[if]|^--[if]/)) return false;
  const scripts = args.filter((_, at) => /^(?:-[nErsuz]*e|--expression)$/.test(args[at - 1] ?? ""));
  const [first] = operandsOf(args);
  const all = [
    ...scripts,
    ...(scripts.length === 0 && first !== undefined ? [first] : []),
    ...args
      .filter((word) => /^(?:-e.|--expression=)/.test(word))
      .map((word) => word.replace(/^(?:-e|--expression=)/, "")),
  ];
  return all.every((script) => script.length < 2_000 && script.split(/[;\n]/).every(isHarmlessSedCommand));
}

function isHarmlessSedCommand(command: string): boolean {
  const plain = command.trim();
  if (plain === "") return true;
  const address = String.raw`(?:(?:\d+|\$|/(?:[^/\\]|\\.)*/)(?:,\s*(?:[+~]?\d+|\$|/(?:[^/\\]|\\.)*/))?\s*!?\s*)?`;
  if (new RegExp(`^${address}[{}]?\\s*[pdqQ=lnNDPGHhgxz]?\\s*\\}?$`).test(plain)) return true;
  // `s` with flags other than `w` and `e`; the delimiter is one of the usual ones.
  const substitution = /^s([/|#,:@!])/.exec(plain.replace(new RegExp(`^${address}`), ""));
  if (!substitution) return /^y\//.test(plain);
  const delimiter = substitution[1] ?? "/";
  const parts = plain
    .replace(new RegExp(`^${address}`), "")
    .slice(2)
    .replace(/\\[\s\S]/g, "")
    .split(delimiter);
  return parts.length === 3 && /^[gpiIm\d]*$/.test(parts[2] ?? "");
}

/** A program of awk is read-only if it neither redirects nor runs anything; a `>` or `|` after `print` could do so. */
function isHarmlessAwk(args: readonly string[]): boolean {
  const options = args.filter((word) => /^-(?![vF])/.test(word));
  if (args.some(startsUnknown) || options.length > 0) return false;
  const [program = ""] = operandsOf(args, /^-[Fv]$/);
  if (/system|getline|@/.test(program)) return false;
  const print = program.indexOf("print");
  return print < 0 || !/[>|]/.test(program.slice(print).replaceAll("||", ""));
}

/** `xargs` adds arguments that could be options, so only programs without harmful options are accepted. */
function isHarmlessList(args: readonly string[]): boolean {
  const command = unwrapCommand("xargs", args);
  const name = command?.kind === "words" ? command.words[0] : undefined;
  return (
    /^(?:grep|egrep|fgrep|wc|cat|head|tail|ls|stat|basename|dirname|du|sha256sum|md5sum)$/.test(name ?? "") &&
    !hasOption(args, /^--(?:open-tty|interactive)/)
  );
}

/** `ip` accepts every abbreviation of its verbs (`ip a d`), so only the verbs that show something are accepted. */
function isHarmlessIp(args: readonly string[]): boolean {
  const from = args.findIndex(
    (word) => !/^-(?:[46jspod]|br(?:ief)?|json|pretty|details|stat\w*|oneline|c(?:olor)?)$/.test(word),
  );
  const [object = "", verb = "show"] = from < 0 ? [] : args.slice(from);
  return (
    /^(?:a|addr|address|l|link|r|route|n|neigh|rule)$/.test(object) &&
    /^(?:show|list|ls|lst|get|dev)$/.test(verb) &&
    !args.some(startsUnknown)
  );
}

/** Only listing an archive is accepted, with options that start no program. */
function isHarmlessArchive(name: string, args: readonly string[]): boolean {
  if (name !== "tar") return args[0] === "-l" || args[0] === "-Z1";
  const [first = "", ...rest] = args;
  return (
    /^(?:-?t[vfzjJ]*|--list)$/.test(first) &&
    // An archive `host:file` is read from another machine.
    rest.every((word) => /^(?:[^-\uFFFC:]+$|\/|-[vfzjJC]+$|--(?:verbose|gzip|file=.*)$)/.test(word))
  );
}
