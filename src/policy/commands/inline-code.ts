import { UNKNOWN } from "../shell-reader/scope.ts";
import {
  type CodeCall,
  commandsOf,
  findCalls,
  firstArgument,
  joinedPaths,
  methodOf,
  stringsOf,
} from "./code/code-calls.ts";
import { type CodeToken, readCodeTokens } from "./code/code-tokens.ts";
import type { CodeLanguage } from "./code/interpreters.ts";
import type { CommandFacts, Match } from "./command-classes.ts";
import { isMetadataAddress } from "./metadata-address.ts";
import { isRebuildable } from "./rebuildable-paths.ts";
import { judgeRead, judgeWrite } from "./sensitive-paths.ts";
import { findSqlLoss } from "./sql.ts";

/** What inline code does, and the shell commands that it starts. */
export interface CodeInspection {
  readonly matches: readonly Match[];
  readonly commands: readonly string[];
  readonly usesNetwork: boolean;
}

const RUNNERS: Readonly<Record<CodeLanguage, RegExp>> = {
  python:
    /^(?:system|popen\d?|execv?p?e?|execlp?e?|spawn[lv]p?e?|posix_spawnp?|check_call|check_output|Popen|getoutput|getstatusoutput|create_subprocess_(?:shell|exec)|spawn)$/,
  javascript:
    /^(?:exec|execSync|spawn|spawnSync|execFile|execFileSync|execa|execaSync|execaCommand|Command|\$)$/,
  perl: /^(?:system|exec|`|capture|run)$/,
  ruby: /^(?:system|exec|spawn|`|popen|popen[23]|capture[23]e?|pipeline|sh)$/,
  php: /^(?:system|exec|shell_exec|passthru|popen|proc_open|pcntl_exec|`)$/,
};
const TREE_REMOVERS =
  /^(?:rmtree|rimraf|rimrafSync|rm_rf|rm_r|remove_dir|remove_entry|remove_entry_secure|remove_tree|removeSync|emptyDir|emptyDirSync|removedirs|send2trash|delete_folder)$/;
const FLAGGED_REMOVERS = /^(?:rm|rmSync|rmdir|rmdirSync)$/;
const FILE_REMOVERS = /^(?:remove|unlink|unlinkSync|rmdir|rmdirSync|delete|rm|rmSync)$/;
const WALKERS =
  /^(?:walk|glob|iglob|rglob|globSync|iterdir|listdir|scandir|readdir|readdirSync|entries|children|opendir|RecursiveDirectoryIterator|find)$/;
const READERS =
  /^(?:open|fopen|read|read_text|read_bytes|readFile|readFileSync|createReadStream|readlines|readline|readall|file_get_contents|file|slurp|Path|Pathname|load|copy|copyfile|copytree|copyFileSync|cpSync|make_archive|add|expanduser|foreach|new|parse|read_csv)$/;
const WRITERS =
  /^(?:write|write_text|write_bytes|writelines|writeFile|writeFileSync|appendFile|appendFileSync|createWriteStream|file_put_contents|fwrite|fputs|puts|print|copy|copyfile|copyFileSync|move|rename|renameSync|replace|symlink|symlinkSync|truncate|unlink|unlinkSync|remove|chmod|chmodSync|dump|binwrite|syswrite)$/;
/** Functions that open a database file, which SQL then changes. */
const DATABASES = /^(?:sqlite3\.connect|DatabaseSync|SQLite3::Database\.new|SQLite3)$/;
const WRITE_MODE = /^(?:[wax][bt+]*|\+?>{1,2}.*|r[bt]?\+[bt]?)$/;
const EVALUATORS =
  /^(?:exec|eval|Function|compile|runInThisContext|runInNewContext|instance_eval|class_eval|assert|create_function|loads)$/;
const DECODERS =
  /^(?:b64decode|b32decode|b16decode|a85decode|urlsafe_b64decode|decodebytes|fromhex|unhexlify|decompress|atob|unpack|base64_decode|gzinflate|gzuncompress|str_rot13|hex2bin|decode64|strict_decode64|decode_base64|fromCharCode|rot13|chr)$/;
const NETWORK =
  /^(?:urlopen|urlretrieve|request|requests\.\w+|httpx\.\w+|fetch|http\.\w+|https\.\w+|axios(?:\.\w+)?|Net::HTTP.*|URI\.open|LWP::.*|HTTP::Tiny.*|curl_exec|connect|create_connection|sendall|fsockopen|TCPSocket(?:\.\w+)?|Socket|socket|net\.\w+|IO::Socket.*|post|sendmail|send)$/;
const SOCKETS =
  /^(?:socket|socket\.socket|socket\.create_connection|net\.(?:connect|createConnection|Socket)|TCPSocket(?:\.\w+)?|IO::Socket.*|fsockopen|Socket)$/;
const NETWORK_NAMES =
  /^(?:url(?:open|retrieve)|urllib\d?(?:\..*)?|requests(?:\..*)?|httpx(?:\..*)?|aiohttp(?:\..*)?|http\.client.*|httplib.*|smtplib.*|ftplib.*|telnetlib.*|paramiko.*|socket(?:\..*)?|socketserver.*|fetch|XMLHttpRequest|WebSocket|EventSource|sendBeacon|https?\.(?:get|request)|axios(?:\..*)?|Net::.*|URI\.open|LWP::.*|HTTP::.*|IO::Socket.*|curl_(?:init|exec)|fsockopen|stream_socket_client|TCPSocket.*|UDPSocket.*|create_connection)$/;
const NETWORK_MODULES =
  /^(?:(?:node:)?(?:https?|http2|net|tls|dgram|dns)|undici|axios|got|node-fetch|nodemailer|ws|net\/(?:http|smtp|ftp)|open-uri|socket)$/;
const REMOTE_ADDRESS =
  /^(?:https?|wss?|ftp):\/\/(?!(?:[^/@]*@)?(?:localhost|127\.[\d.]+|\[::1\])(?:[:/?#]|$))/i;
const SHELL_PROGRAM = /^(?:\/(?:usr\/)?bin\/)?(?:ba|da|z|k)?sh(?: -i)?(?: .*)?$/;
const DISPATCHERS =
  /^(?:getattr|__import__|import_module|globals|send|public_send|__send__|call_user_func|call_user_func_array|apply|constantize|const_get)$/;
const SQL_CALLS =
  /^(?:execute|executescript|executemany|query|raw|exec|run|prepare|all|do|mysqli_query|pg_query|exec_driver_sql|text)$/;
const HOME_NAMES = /(?:^|\.)(?:home|expanduser|homedir|HOME|Dir\.home)$|HOME/;

/**
 * Inspects a program that an interpreter gets as text. Only tokens are inspected, so the checks find what a program does
 * openly, and disguised code can pass. Each check takes one pass over the tokens.
 */
export function inspectCode(
  code: string,
  language: CodeLanguage,
  cwd: string | undefined,
  facts: CommandFacts,
): CodeInspection {
  const tokens = readCodeTokens(code, language);
  const inspector: Inspector = {
    language,
    cwd,
    facts,
    tokens,
    calls: findCalls(tokens),
    names: new Set(tokens.filter(({ kind }) => kind === "name").map(({ text }) => text)),
    strings: stringsOf(tokens),
  };
  const matches = [
    findHiddenCode(inspector),
    findRemoval(inspector),
    findFileUse(inspector),
    findNetworkUse(inspector),
    findDatabaseLoss(inspector),
  ];
  return {
    matches: matches.filter((match) => match !== undefined),
    commands: findCommands(inspector),
    usesNetwork: usesNetwork(inspector),
  };
}

interface Inspector {
  readonly language: CodeLanguage;
  readonly cwd: string | undefined;
  readonly facts: CommandFacts;
  readonly tokens: readonly CodeToken[];
  readonly calls: readonly CodeCall[];
  readonly names: ReadonlySet<string>;
  readonly strings: readonly string[];
}

function hasName({ names }: Inspector, pattern: RegExp): boolean {
  for (const name of names) if (pattern.test(name) || pattern.test(methodOf(name))) return true;
  return false;
}

function runsCommands(call: CodeCall, inspector: Inspector): boolean {
  const { language, strings, names } = inspector;
  if (language === "python" && /^(?:run|call)$/.test(call.method))
    return call.name.startsWith("subprocess") || names.has("subprocess");
  if (!RUNNERS[language].test(call.method)) {
    // Perl and Ruby run what follows or precedes a pipe in the name of a file.
    return (
      call.method === "open" &&
      /^(?:perl|ruby)$/.test(language) &&
      stringsOf(call.tokens).some((text) => /^\s*\||\|\s*$|^-\||^\|-/.test(text))
    );
  }
  if (language === "python") return !/^(?:exec|eval)$/.test(call.name);
  if (language !== "javascript") return true;
  return (
    strings.some((text) => /child_process|execa|zx|shelljs/.test(text)) || /^(?:Bun|Deno)\./.test(call.name)
  );
}

/** The shell commands that the code runs. If one of them is not a literal, every string with a space could be it. */
function findCommands(inspector: Inspector): readonly string[] {
  const commands = new Set<string>();
  const calls = inspector.calls.filter((call) => runsCommands(call, inspector));
  for (const call of calls)
    for (const text of commandsOf(call)) commands.add(text.replace(/^\s*\||\|\s*$/g, ""));
  const isDynamic =
    calls.some(
      (call) => firstArgument(call.tokens).startsWith(UNKNOWN) || stringsOf(call.tokens).length === 0,
    ) ||
    inspector.calls.some(({ method }) => DISPATCHERS.test(method)) ||
    inspector.tokens.some(
      ({ text, kind }, at) =>
        kind === "mark" && text === "(" && isComputed(inspector.tokens[at - 1], inspector),
    );
  if (isDynamic) for (const text of inspector.strings) if (/\S\s+\S/.test(text)) commands.add(text);
  return [...commands].filter((text) => text.replaceAll(UNKNOWN, "").trim() !== "");
}

/** Whether the called function has no fixed name: `table["x"](…)`, `$f(…)`. */
function isComputed(before: CodeToken | undefined, { language }: Inspector): boolean {
  if (before?.kind === "mark") return before.text === "]" || before.text === "}" || before.text === ")";
  return before?.kind === "name" && language === "php" && before.text.startsWith("$");
}

function findHiddenCode(inspector: Inspector): Match | undefined {
  for (const call of inspector.calls) {
    if (!EVALUATORS.test(call.method) && !runsCommands(call, inspector)) continue;
    if (call.method === "loads" && !call.name.startsWith("marshal") && !call.name.startsWith("pickle"))
      continue;
    const inside = call.tokens.filter(({ kind }) => kind === "name").map(({ text }) => text);
    const isIndirect = stringsOf(call.tokens).length === 0;
    const uses = (pattern: RegExp) =>
      inside.some((name) => pattern.test(name) || pattern.test(methodOf(name))) ||
      (isIndirect && hasName(inspector, pattern));
    const isEncoded = stringsOf(call.tokens).some((text) => /^(?:base64|hex|rot.?13|zlib|m0?)$/.test(text));
    if (uses(DECODERS) || isEncoded)
      return { class: "decoded-code", effect: "runs code that it decodes first" };
    if (EVALUATORS.test(call.method) && uses(NETWORK))
      return { class: "remote-code", effect: "runs code that it downloads" };
  }
  return undefined;
}

function findRemoval(inspector: Inspector): Match | undefined {
  const { calls, tokens, facts, cwd, strings } = inspector;
  for (const call of calls) {
    const isTree =
      TREE_REMOVERS.test(call.method) ||
      (FLAGGED_REMOVERS.test(call.method) &&
        call.tokens.some(({ kind, text }) => kind === "name" && text === "recursive"));
    if (isTree && !removesOnlyRebuildable(call, inspector))
      return { class: "recursive-removal", effect: "removes a folder and everything in it" };
  }
  // `getattr(shutil, "rm" + "tree")`
  if (
    calls.some(
      ({ method, tokens: inside }) =>
        DISPATCHERS.test(method) && joinsToName(stringsOf(inside), TREE_REMOVERS),
    )
  )
    return { class: "recursive-removal", effect: "removes a folder and everything in it" };
  // `from shutil import rmtree as r`
  if (
    tokens.some(
      ({ kind, text }, at) =>
        kind === "name" && TREE_REMOVERS.test(methodOf(text)) && tokens[at + 1]?.text === "as",
    )
  )
    return { class: "recursive-removal", effect: "removes a folder and everything in it" };
  // `path.rmtree` of Ruby has no parentheses.
  if (
    tokens.some(({ kind, text }) => kind === "name" && /[.:](?:rmtree|rm_rf)$/.test(text)) &&
    !calls.some(({ method }) => TREE_REMOVERS.test(method))
  )
    return { class: "recursive-removal", effect: "removes a folder and everything in it" };
  if (!hasName(inspector, WALKERS)) return undefined;
  const removes =
    calls.some(({ method, name }) => FILE_REMOVERS.test(method) && isFileRemoval(name)) ||
    tokens.some(({ kind, text }) => kind !== "mark" && /(?:^|\.)unlink$/.test(text));
  const patterns = strings.filter((text) => /[*]/.test(text));
  const isOnlyRebuildable =
    patterns.length > 0 &&
    patterns.every((text) => isRebuildable(text.replace(/^\*\*\//, ""), { cwd }, facts));
  return removes && !isOnlyRebuildable
    ? { class: "bulk-removal", effect: "removes all files that it finds" }
    : undefined;
}

/** Whether some of the last strings join to the name: `getattr(__import__("shutil"), "rm" + "tree")`. */
function joinsToName(strings: readonly string[], name: RegExp): boolean {
  return strings.slice(-6).some((_, at, last) => name.test(last.slice(at).join("")));
}

/** Whether a function removes files; `list.remove(x)` and `map.delete(x)` do not. */
function isFileRemoval(name: string): boolean {
  return (
    /^(?:os|fs|fsp|fs\.promises|File|FileUtils|Dir|pathlib|unlink|Deno)\b/.test(name) ||
    /(?:^|\.)unlink(?:Sync)?$/.test(name)
  );
}

function removesOnlyRebuildable(call: CodeCall, { cwd, facts, tokens }: Inspector): boolean {
  const path = firstArgument(call.tokens);
  const [first] = call.tokens;
  if (first?.kind === "name") {
    const assigned = tokens.findIndex(
      ({ kind, text }, at) => kind === "name" && text === first.text && tokens[at + 1]?.text === "=",
    );
    const source = assigned < 0 ? undefined : tokens[assigned + 2];
    if (source?.kind === "name" && /mkdtemp|mktmpdir|TemporaryDirectory|tempdir/.test(source.text))
      return true;
  }
  const literal = path.replaceAll(UNKNOWN, "");
  const isLiteral = call.tokens.every(
    ({ kind, text }) =>
      kind !== "name" ||
      /^(?:Path|pathlib\.Path|os\.path\.join|path\.join|path\.resolve|__dirname|ignore_errors|True|true|False|false|recursive|force|process\.cwd|require)$/.test(
        text,
      ),
  );
  return isLiteral && literal !== "" && isRebuildable(literal, { cwd }, facts);
}

function findFileUse(inspector: Inspector): Match | undefined {
  const { tokens, calls, facts, cwd, language } = inspector;
  const usesHome =
    hasName(inspector, HOME_NAMES) || inspector.strings.some((text) => /^(?:HOME|~\/?)$/.test(text));
  const judge = (path: string, rule: typeof judgeRead) =>
    candidatePathsOf(path, usesHome, inspector).reduce<Match | undefined>(
      (found, candidate) => found ?? rule(candidate, cwd, facts),
      undefined,
    );
  const paths = joinedPaths(tokens).filter((path) => !/[\s]/.test(path) && path !== "");
  const writes =
    hasName(inspector, WRITERS) ||
    hasName(inspector, DATABASES) ||
    inspector.strings.some((text) => WRITE_MODE.test(text));
  for (const path of paths) {
    const read = hasName(inspector, READERS) || language === "perl" ? judge(path, judgeRead) : undefined;
    if (read) return read;
    const written = writes ? judge(path, judgeWrite) : undefined;
    // Many ordinary programs read a system file and write another file.
    if (written && (written.class !== "system-file-write" || calls.some((call) => writesPath(call, path))))
      return written;
  }
  return undefined;
}

function candidatePathsOf(path: string, usesHome: boolean, { facts }: Inspector): readonly string[] {
  if (path.startsWith("~/") && facts.home !== undefined) return [`${facts.home}${path.slice(1)}`];
  return usesHome && facts.home !== undefined ? [path, `${facts.home}/${path}`] : [path];
}

function writesPath({ method, tokens, chained }: CodeCall, path: string): boolean {
  const strings = stringsOf(tokens);
  if (!strings.includes(path)) return false;
  return (
    WRITERS.test(method) ||
    /^(?:write_text|write_bytes|unlink)$/.test(chained) ||
    strings.slice(1).some((text) => WRITE_MODE.test(text))
  );
}

function findNetworkUse(inspector: Inspector): Match | undefined {
  const { strings, tokens } = inspector;
  if (strings.some(isMetadataAddress))
    return { class: "cloud-metadata", effect: "contacts the cloud's metadata service" };
  const hasSocket = hasName(inspector, SOCKETS);
  if (
    hasSocket &&
    (hasName(inspector, /^(?:dup2|pty\.spawn)$/) || strings.some((text) => SHELL_PROGRAM.test(text)))
  )
    return { class: "remote-shell", effect: "gives another machine a shell on this one" };
  const dumps = tokens.some(
    ({ kind, text }, at) =>
      kind === "name" &&
      /^(?:os\.environ|process\.env|ENV|%ENV|\$_ENV|ENV\.to_h)$/.test(text) &&
      tokens[at + 1]?.text !== "[",
  );
  if (dumps && hasName(inspector, NETWORK))
    return { class: "data-upload", effect: "sends the variables of the environment to another machine" };
  return undefined;
}

/** Whether code can reach another machine, judged by its calls, modules and addresses. */
function usesNetwork(inspector: Inspector): boolean {
  return (
    hasName(inspector, NETWORK_NAMES) ||
    inspector.strings.some((text) => NETWORK_MODULES.test(text) || REMOTE_ADDRESS.test(text))
  );
}

function findDatabaseLoss({ calls }: Inspector): Match | undefined {
  for (const { method, tokens } of calls) {
    if (/^(?:dropDatabase|drop_database|dropTable|drop_table|drop_all|dropCollection)$/.test(method))
      return { class: "database-destruction", effect: "drops tables or a database" };
    if (!SQL_CALLS.test(method)) continue;
    const loss = stringsOf(tokens)
      .map(findSqlLoss)
      .find((found) => found !== undefined);
    if (loss) return { class: "database-destruction", effect: `${loss} of a database` };
  }
  return undefined;
}
