import type { Invocation } from "../../shell-reader/invocation.ts";
import { parseFindArguments } from "../../shell-reader/programs/parse-find-arguments.ts";
import { UNKNOWN } from "../../shell-reader/scope.ts";
import { hasOption, operandsOf } from "../arguments.ts";
import { isEnvTemplate, judgeRead, judgeWrite, locate } from "../sensitive-paths.ts";
import { writtenBy } from "../written-files.ts";
import type { ClassRule } from "./class-rule.ts";

/** Programs that do not print the content of files in their arguments, or whose arguments are not files. */
const BLIND_PROGRAMS = new Set(
  `ls ll stat test [ file du df chmod chown mkdir rmdir touch cd pushd echo printf git gh ssh ssh-add ssh-keygen ssh-copy-id
  sftp mosh realpath readlink basename dirname which type export local declare alias set true : exit return kubectl helm
  tree exa eza locate mdfind wc sha256sum md5sum shasum rm unlink export unset man`.split(/\s+/),
);
/** Programs whose first operand is a pattern or a script, not a file. */
const PATTERN_FIRST = new Set([
  "grep",
  "egrep",
  "fgrep",
  "rg",
  "ag",
  "ack",
  "sed",
  "awk",
  "gawk",
  "jq",
  "yq",
  "perl",
  "ruby",
]);
const PRINTERS_OF_SECRETS: Readonly<Record<string, RegExp>> = {
  gpg: /^--export-secret-(?:sub)?keys?$/,
  gpg2: /^--export-secret-(?:sub)?keys?$/,
  security: /^(?:find-(?:generic|internet)-password|dump-keychain|export)$/,
  "secret-tool": /^lookup$/,
  pass: /^show$/,
  op: /^(?:read|item)$/,
};

/** Programs with a verb that prints a token or a password. */
const TOKEN_PRINTERS = new Set(["gh", "git", "kubectl", "gcloud", "aws", "docker-credential-desktop"]);

/** Changing files outside the usual work in a project. */
export const checkWrittenFiles: ClassRule = (invocation, { facts }) => {
  for (const path of writtenBy(invocation)) {
    const match = judgeWrite(path, invocation.cwd, facts);
    if (match?.class === "env-file-write" && fillsTemplate(invocation)) {
      if (hasOption(invocation.args, /^(?:-[a-zA-Z]*n[a-zA-Z]*|--no-clobber|--update=none)$/)) continue;
      return { ...match, harmlessIf: { state: "missing", paths: [locate(path, invocation.cwd)] } };
    }
    if (match) return match;
  }
  return undefined;
};

/** Whether it is `cp .env.example .env`, which loses nothing as long as the target does not exist. */
function fillsTemplate({ name, args }: Invocation): boolean {
  const [source = "", , ...more] = operandsOf(args);
  return name === "cp" && more.length === 0 && isEnvTemplate(source);
}

/** Reading of keys, passwords and tokens. */
export const checkCredentials: ClassRule = (invocation, { facts }) => {
  const { name, args, files, cwd } = invocation;
  for (const path of [
    ...files.filter(({ operator }) => operator.startsWith("<")).map(({ path }) => path),
    ...filesReadBy(name, args),
  ]) {
    const match = judgeRead(path, cwd, facts);
    if (match) return match;
  }
  const printing = Object.hasOwn(PRINTERS_OF_SECRETS, name) ? PRINTERS_OF_SECRETS[name] : undefined;
  if (printing && args.some((word) => printing.test(word)))
    return { class: "credential-access", effect: "prints stored keys or passwords" };
  if (!TOKEN_PRINTERS.has(name)) return undefined;
  const line = args.slice(0, 6).join(" ");
  if (
    (name === "gh" && /^auth token\b/.test(line)) ||
    (name === "git" && /^credential(?:-\w+)? (?:fill|get)\b/.test(line)) ||
    (name === "kubectl" && /\bconfig view\b/.test(line) && args.includes("--raw")) ||
    (name === "gcloud" && /^auth (?:application-default )?print-access-token/.test(line)) ||
    (name === "aws" &&
      /\b(?:configure (?:get|export-credentials)|sts get-session-token|secretsmanager get-secret-value)\b/.test(
        line,
      )) ||
    (name === "docker-credential-desktop" && line.startsWith("get"))
  )
    return { class: "credential-access", effect: "prints a token or a password" };
  return undefined;
};

/** The arguments of a program that may be files which it reads. */
export function filesReadBy(name: string, args: readonly string[]): readonly string[] {
  if (name === "find") {
    const { commands, roots } = parseFindArguments(args);
    return commands.length > 0 ? roots : [];
  }
  if (BLIND_PROGRAMS.has(name) || name === "") return [];
  const words =
    PATTERN_FIRST.has(name) && !args.some((word) => /^-[ef]/.test(word)) ? withoutPattern(args) : args;
  // Paths in `-F file=@PATH`, `--data=@PATH` and `if=PATH` count too. Programs of ssh use an identity without showing it.
  const isIdentity = (at: number) => words[at - 1] === "-i" && /^(?:scp|rsync|sftp)$/.test(name);
  return words.flatMap((word, at) => {
    if (isIdentity(at) || word.length > 4_096) return [];
    if (word !== "" && !/[=@;\s]/.test(word)) return word;
    const path = word.slice(Math.max(word.lastIndexOf("="), word.lastIndexOf("@")) + 1).split(";")[0] ?? "";
    return (path === word ? [word] : [word, path]).filter(
      (candidate) => candidate !== "" && !/\s/.test(candidate),
    );
  });
}

function withoutPattern(args: readonly string[]): readonly string[] {
  const [pattern] = operandsOf(args, /^-[ABCmdDgtT]$/);
  const at = pattern === undefined ? -1 : args.indexOf(pattern);
  return args.filter((_, index) => index !== at);
}

/** Whether a path is in the home but neither in the project nor in a temporary folder, or contains the home. */
export function isPersonal(
  path: string,
  cwd: string | undefined,
  home: string | undefined,
  project: string,
): boolean {
  if (home === undefined || path.startsWith(UNKNOWN)) return false;
  const absolute = locate(path, cwd);
  if (absolute === project || absolute.startsWith(`${project}/`)) return false;
  return absolute.startsWith(`${home}/`) || `${home}/`.startsWith(absolute === "/" ? "/" : `${absolute}/`);
}
