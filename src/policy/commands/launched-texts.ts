import type { Invocation } from "../shell-reader/invocation.ts";
import { operandsOf, quoteWords, subcommandOf, valuesOfOption } from "./arguments.ts";
import { ENGINE_OPTIONS, ENGINES } from "./rules/containers.ts";
import { GIT_OPTIONS } from "./rules/git.ts";

/** A text that a program passes to a shell, or a command that a program starts, quoted for a shell. */
export interface LaunchedText {
  readonly text: string;
  /** Whether it runs in a container or on another machine. */
  readonly isElsewhere: boolean;
}

/** Programs with verbs that are followed by a command. */
const RUNNERS: Readonly<Record<string, RegExp>> = {
  uv: /^run$/,
  poetry: /^run$/,
  pipenv: /^run$/,
  pdm: /^run$/,
  hatch: /^run$/,
  rye: /^run$/,
  conda: /^run$/,
  mamba: /^run$/,
  bundle: /^exec$/,
  npm: /^(?:exec|x)$/,
  pnpm: /^(?:exec|dlx)$/,
  yarn: /^(?:exec|dlx)$/,
  bun: /^x$/,
  mise: /^(?:exec|x)$/,
  asdf: /^exec$/,
  rbenv: /^exec$/,
  volta: /^run$/,
  direnv: /^exec$/,
  doppler: /^run$/,
  op: /^run$/,
  infisical: /^run$/,
  "aws-vault": /^exec$/,
  sail: /^(?:run|exec|shell)$/,
};
/** Programs whose operands are the command to start. */
const STARTERS =
  /^(?:ld\.so|npx|bunx|pnpx|uvx|pipx|cross-env|dotenv|firejail|proot|bwrap|entr|ltrace|perf|valgrind|tsp|chronic|ts|setarch|linux32|linux64|faketime|proxychains4?|torsocks|with-contenv|dumb-init|tini|hyperfine|concurrently)$/;
/** Options whose value is run by a shell, by program. */
const TEXT_OPTIONS: Readonly<Record<string, readonly string[]>> = {
  "nix-shell": ["--run", "--command"],
  nix: ["-c", "--command"],
  vagrant: ["-c", "--command"],
  gcloud: ["--command"],
  nodemon: ["-x", "--exec"],
  watchexec: ["--"],
  rg: ["--pre"],
  tar: [
    "--to-command",
    "--use-compress-program",
    "-I",
    "--rsh-command",
    "--info-script",
    "--new-volume-script",
  ],
  npm: ["-c", "--call"],
  npx: ["-c", "--call"],
  zip: ["-TT", "--unzip-command"],
  compgen: ["-C"],
  complete: ["-C"],
  rsync: ["-e", "--rsh"],
  cmd: ["/c", "/C", "/k"],
  "cmd.exe": ["/c", "/C", "/k"],
  powershell: ["-c", "-Command", "-command"],
  pwsh: ["-c", "-Command", "-command"],
  parallel: ["--"],
};
/** Settings of git whose values are commands. */
const GIT_COMMAND_KEYS =
  /^(?:core\.(?:pager|editor|sshcommand|fsmonitor|askpass)|sequence\.editor|diff\.external|credential\..*helper|gpg\.program|pager\..+|.*\.(?:textconv|command|driver|clean|smudge|process|cmd))$/i;

/** The texts that a program passes to a shell, except those that the shell reader already follows. */
export function launchedBy({ name, texts: args, input }: Invocation): readonly LaunchedText[] {
  const here = (text: string): LaunchedText => ({ text, isElsewhere: false });
  const away = (words: readonly string[]): LaunchedText => ({ text: quoteWords(words), isElsewhere: true });
  if (ENGINES.test(name)) return containerCommand(name, args).map(away);
  if (/^(?:kubectl|oc|k)$/.test(name)) {
    const at = args.indexOf("--");
    return args.includes("exec") && at >= 0 ? [away(args.slice(at + 1))] : [];
  }
  const launched: LaunchedText[] = [];
  const options = Object.hasOwn(TEXT_OPTIONS, name) ? TEXT_OPTIONS[name] : undefined;
  if (options !== undefined)
    for (const text of valuesOfOption(args, undefined, ...options)) launched.push(here(text));
  if (name === "ssh")
    for (const text of valuesOfOption(args, "o"))
      if (/^(?:proxy|local)command=/i.test(text)) launched.push(here(text.slice(text.indexOf("=") + 1)));
  if (/^(?:tmux|screen|byobu)$/.test(name)) {
    launched.push(...args.filter((word) => /\s/.test(word)).map(here));
    return [
      ...launched,
      ...(name === "screen"
        ? [here(quoteWords(args.slice(operandIndex(args, /^-[a-zA-Z]*[StepThc]$/))))]
        : []),
    ];
  }
  if (name === "parallel") launched.push(...parallelTexts(args).map(here));
  if (/^(?:g|m|n)?awk$/.test(name)) return [...launched, ...awkCommands(args, input).map(here)];
  launched.push(...ownCommands(name, args, input).map(here));
  if (name === "hermes" && args.includes("sandbox") && args.includes("--"))
    launched.push(here(args.slice(args.indexOf("--") + 1).join(" ")));
  if (name === "osascript")
    return [
      ...launched,
      ...args.flatMap((word) => word.split('"').filter((_, at) => at % 2 === 1)).map(here),
    ];
  if (name === "git") return [...launched, ...gitTexts(args).map(here)];
  if (/^(?:hyperfine|concurrently|entr)$/.test(name))
    launched.push(...args.filter((word) => /\s/.test(word)).map(here));
  if (STARTERS.test(name)) launched.push(here(quoteWords(wordsAfterOptions(args))));
  const verb = Object.hasOwn(RUNNERS, name) ? RUNNERS[name] : undefined;
  if (verb === undefined) return launched;
  const own = subcommandOf(args, /^(?:-[CpF]|--(?:dir|cwd|directory|project|filter|prefix|manifest-path))$/);
  if (verb.test(own.verb)) {
    const words = wordsAfterOptions(own.rest);
    launched.push(here(quoteWords(name === "direnv" ? words.slice(1) : words))); // `direnv exec FOLDER …`
  }
  return launched;
}

/** The command after options and assignments. Keeping the value of an unknown option as an extra word does no harm. */
function wordsAfterOptions(args: readonly string[]): readonly string[] {
  const separator = args.indexOf("--");
  if (separator >= 0 && separator < 12) return args.slice(separator + 1);
  let at = 0;
  while (at < args.length && (/^-/.test(args[at] ?? "") || /^[A-Za-z_]\w*=/.test(args[at] ?? ""))) {
    at += /^(?:-[pnceEi]|--(?:with|from|package|python|name|env-file|group|extra))$/.test(args[at] ?? "")
      ? 2
      : 1;
  }
  return args.slice(at);
}

function containerCommand(name: string, args: readonly string[]): readonly (readonly string[])[] {
  const own = subcommandOf(args, ENGINE_OPTIONS);
  const isCompose = own.verb === "compose" || name.endsWith("-compose");
  const { verb, rest } =
    own.verb === "compose" || own.verb === "container" ? subcommandOf(own.rest, ENGINE_OPTIONS) : own;
  if (verb !== "exec" && verb !== "run") return [];
  const valued = isCompose
    ? /^(?:-[eupwvl]|--(?:env|user|workdir|index|name|volume|publish|entrypoint))$/
    : /^(?:-[euwvpmlhac]|--(?!rm$|init$|privileged|detach|interactive|tty|read-only|quiet|.*=)[a-z-]+)$/;
  const { rest: command } = subcommandOf(rest, valued);
  return command.length > 0 ? [command] : [];
}

/** Commands in an awk program: `system("…")`, `"…" | getline`, `print | "…"`. */
function awkCommands(args: readonly string[], input: readonly string[]): readonly string[] {
  const [program = ""] = operandsOf(args, /^-[Fvf]$/);
  if (!/system|getline|\|/.test(program)) return [];
  const values = valuesOfOption(args, "v", "--assign").map((word) => word.slice(word.indexOf("=") + 1));
  // The pattern takes quadratic time, so a long program is only split at its quotes.
  const strings =
    program.length > MAX_LINE
      ? program.split('"').filter((_, at) => at % 2 === 1)
      : Array.from(program.matchAll(/"((?:[^"\\]|\\.)*)"/g), ([, text = ""]) => text.replace(/\\(.)/g, "$1"));
  const lines = /system\s*\(\s*\$|\|\s*"(?:ba|da|z)?sh"/.test(program) ? input : [];
  return [...strings, ...values].filter((text) => /\s|^\w+$/.test(text)).concat(lines);
}

/** Commands in scripts and options of `sed`, `make`, `tar`, `sqlite3`, debuggers, editors and the like. */
function ownCommands(name: string, args: readonly string[], input: readonly string[]): readonly string[] {
  const found = (texts: readonly string[], pattern: RegExp) =>
    texts.flatMap((text) =>
      text.split("\n").flatMap((line) => (line.length > MAX_LINE ? [] : (pattern.exec(line)?.[1] ?? []))),
    );
  switch (name) {
    case "sed":
    case "gsed":
      return [
        ...found(args, /(?:^|[;{}\d$/!]\s*)e\s+(.+)/),
        ...sedScripts(args).flatMap((script) => sedExecution(script) ?? []),
      ];
    case "tar":
    case "bsdtar":
      return found(valuesOfOption(args, undefined, "--checkpoint-action"), /^exec=(.*)/);
    case "make":
    case "gmake":
      return found(
        [...input, ...valuesOfOption(args, undefined, "--eval", "-E")],
        /^(?:\t|[^\t#=]*:[^=;]*;)\s*[@+-]*(.+)/,
      );
    case "sqlite3":
    case "sqlite":
      return found([...args, ...input], /^\s*\.(?:shell|system)\s+(.+)/);
    case "gdb":
    case "lldb":
      return found([...args, ...input], /^\s*(?:shell|!|platform shell|make)\s*(.+)/);
    case "vi":
    case "vim":
    case "nvim":
    case "ex":
    case "ed":
    case "less":
      return [...found([...args, ...input], /^\+?:?(?:sil(?:ent)?!?\s*)?!(.+)/), ...quotedTexts(args, input)];
    case "emacs":
    case "emacsclient":
    case "lua":
    case "luajit":
    case "r":
    case "rscript":
    case "julia":
    case "tclsh":
    case "wish":
    case "expect":
    case "elixir":
    case "groovy":
      return [
        ...found([...args, ...input], /(?:^|[;\s])(?:exec|spawn|system)\s+([^;(]+)/),
        ...quotedTexts(args, input),
      ];
    case "just":
      return args.includes("--command") ? [quoteWords(args.slice(args.indexOf("--command") + 1))] : [];
    case "npm":
      return scriptTexts(args);
    default:
      return [];
  }
}

const MAX_LINE = 2_000;

/** The quoted strings of code in a language that is not inspected further. Any of them may be a command. */
function quotedTexts(args: readonly string[], input: readonly string[]): readonly string[] {
  return [...args, ...input]
    .filter((text) => text.length <= MAX_LINE)
    .flatMap((text) =>
      Array.from(text.matchAll(/"([^"]*\s[^"]*)"|'([^']*\s[^']*)'/g), ([, a, b]) => a ?? b ?? ""),
    );
}

/** The commands that `parallel 'rm -rf {}' ::: a b` runs, for the first arguments after `:::`. */
function parallelTexts(args: readonly string[]): readonly string[] {
  const at = args.indexOf(":::");
  const command = args.slice(operandIndex(args, /^-[jSNnl]$/), at < 0 ? undefined : at).join(" ");
  if (at < 0 || !/\s/.test(command)) return [command];
  return args.slice(at + 1, at + 1 + MAX_WORDS).map((word) => command.replaceAll("{}", quoteWords([word])));
}

const MAX_WORDS = 20;

/** The scripts that `npm pkg set scripts.test=…` and `npm set-script` store. */
function scriptTexts(args: readonly string[]): readonly string[] {
  const [verb, noun, ...rest] = operandsOf(args);
  if (verb === "set-script") return rest.slice(0, 1);
  if (verb !== "pkg" || noun !== "set") return [];
  return rest.filter((word) => word.startsWith("scripts.")).map((word) => word.slice(word.indexOf("=") + 1));
}

function operandIndex(args: readonly string[], valued: RegExp): number {
  let at = 0;
  while (at < args.length && (args[at] ?? "").startsWith("-")) at += valued.test(args[at] ?? "") ? 2 : 1;
  return at;
}

/** The scripts in the arguments of `sed`. */
export function sedScripts(args: readonly string[]): readonly string[] {
  const scripts = valuesOfOption(args, undefined, "-e", "--expression");
  return scripts.length > 0 ? scripts : operandsOf(args).slice(0, 1);
}

/** The replacement of an `s` command with the flag `e`, which runs the result; undefined if the script has none. */
export function sedExecution(script: string): string | undefined {
  const [, delimiter = "", rest = ""] =
    /(?:^|[;{}\d$/!\s])s([/|#,:@!~%])(.*)$/s.exec(script.slice(0, MAX_LINE)) ?? [];
  if (delimiter === "") return undefined;
  const [, replacement = "", flags = ""] = splitUnescaped(rest, delimiter);
  return /^[gpiIm\d]*e/.test(flags) ? replacement : undefined;
}

/** Splits at each delimiter that no backslash escapes. */
function splitUnescaped(text: string, delimiter: string): readonly string[] {
  const parts = [""];
  for (let at = 0; at < text.length; at += 1) {
    const char = text.charAt(at);
    const isEscape = char === "\\" && at + 1 < text.length;
    if (isEscape) at += 1;
    if (char === delimiter) parts.push("");
    else parts[parts.length - 1] += text.charAt(at);
  }
  return parts;
}

function gitTexts(args: readonly string[]): readonly string[] {
  const { verb, rest } = subcommandOf(args, GIT_OPTIONS);
  const texts: string[] = [];
  for (const [at, word] of args.entries()) {
    if (args[at - 1] !== "-c" || !word.includes("=")) continue;
    const key = word.slice(0, word.indexOf("="));
    const value = word.slice(key.length + 1);
    if (key.toLowerCase() === `alias.${verb}`) texts.push(aliasText(value, rest));
    else if (GIT_COMMAND_KEYS.test(key)) texts.push(value.replace(/^!/, ""));
  }
  if (verb === "bisect" && rest[0] === "run") texts.push(quoteWords(rest.slice(1)));
  if (verb === "submodule" && rest.includes("foreach")) {
    const words = rest.slice(rest.indexOf("foreach") + 1);
    const from = words.findIndex((word) => !word.startsWith("-"));
    if (from >= 0) texts.push(words.slice(from).join(" "));
  }
  if (verb === "difftool") texts.push(...valuesOfOption(rest, "x", "--extcmd"));
  if (verb === "grep")
    texts.push(...valuesOfOption(rest, "O", "--open-files-in-pager").filter((text) => /\s/.test(text)));
  if (/^(?:clone|fetch|pull|ls-remote)$/.test(verb))
    texts.push(...valuesOfOption(rest, "u", "--upload-pack").filter((text) => /\s/.test(text)));
  for (const word of rest) if (word.startsWith("ext::")) texts.push(word.slice("ext::".length));
  if (verb === "rebase") texts.push(...valuesOfOption(rest, "x", "--exec"));
  if (verb === "config") {
    const operands = operandsOf(rest, /^(?:-f|--file|--blob|--type)$/);
    const [key = "", value = ""] = operands[0] === "set" ? operands.slice(1) : operands;
    if (/^alias\./i.test(key)) texts.push(aliasText(value, []));
    else if (GIT_COMMAND_KEYS.test(key)) texts.push(value.replace(/^!/, ""));
  }
  if (verb === "filter-branch") texts.push(...rest.filter((word) => /\s/.test(word)));
  return texts;
}

function aliasText(value: string, rest: readonly string[]): string {
  const command = value.startsWith("!") ? value.slice(1) : `git ${value}`;
  return rest.length > 0 ? `${command} ${quoteWords(rest)}` : command;
}
