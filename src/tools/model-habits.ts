/**
 * What models write because another agent taught them to, and what it means here. One table for tools, one for
 * arguments, one for values; each row names the agent or model that it comes from.
 */

type Row<Meaning> = readonly [theirs: string, ours: Meaning, source: string];

/** Lower-cased, without a prefix such as `functions.` (gpt-oss) or `default_api:` (Gemini). */
const TOOLS: readonly Row<string>[] = [
  ["bash", "terminal", "Claude Code, opencode, pi"],
  ["shell", "terminal", "Codex CLI"],
  ["local_shell", "terminal", "Codex CLI"],
  ["exec_command", "terminal", "Codex CLI"],
  ["run_shell_command", "terminal", "Gemini CLI, Qwen Code"],
  ["run_terminal_cmd", "terminal", "Cursor"],
  ["run_in_terminal", "terminal", "GitHub Copilot"],
  ["execute_command", "terminal", "Cline"],
  ["execute_bash", "terminal", "OpenHands"],
  ["read", "read_file", "Claude Code, opencode, pi"],
  ["write", "write_file", "Claude Code, opencode, pi"],
  ["write_to_file", "write_file", "Cline"],
  ["create_file", "write_file", "GitHub Copilot"],
  ["edit", "patch", "Claude Code, opencode, pi"],
  ["replace", "patch", "Gemini CLI"],
  ["apply_patch", "patch", "Codex CLI, GitHub Copilot"],
  ["replace_string_in_file", "patch", "GitHub Copilot"],
  ["grep", "search_files", "Claude Code, opencode"],
  ["grep_files", "search_files", "Codex CLI"],
  ["grep_search", "search_files", "Cursor, GitHub Copilot"],
  ["search_file_content", "search_files", "Gemini CLI"],
  ["todowrite", "todo", "Claude Code, opencode"],
  ["todo_write", "todo", "Cursor"],
  ["update_plan", "todo", "Codex CLI"],
];

/** Arguments by our tool, in snake_case: `filePath` (opencode, GitHub Copilot) is read as `file_path`. */
const ARGUMENTS: Readonly<Record<string, readonly Row<string | ((value: unknown) => Arguments)>[]>> = {
  terminal: [
    ["cmd", "command", "Codex CLI"],
    ["cwd", "workdir", "Cline, OpenHands"],
    ["working_directory", "workdir", "Cursor"],
    ["directory", "workdir", "Gemini CLI"],
    ["dir_path", "workdir", "Gemini CLI"],
    ["run_in_background", "background", "Claude Code"],
    ["is_background", "background", "Cursor, GitHub Copilot, Qwen Code"],
    ["timeout_ms", (value) => ({ timeout: secondsOf(value) }), "Codex CLI"],
    ["tty", "pty", "Codex CLI"],
  ],
  process: [
    ["id", "session_id", "general"],
    ["process_id", "session_id", "general"],
    ["bash_id", "session_id", "Claude Code"],
    ["shell_id", "session_id", "Claude Code"],
    ["input", "data", "general"],
    ["chars", "data", "Codex CLI"],
  ],
  read_file: [
    ["file_path", "path", "Claude Code, Codex CLI, Gemini CLI, opencode"],
    ["absolute_path", "path", "Gemini CLI"],
    ["target_file", "path", "Cursor"],
    ["file", "path", "general"],
    ["start_line", "offset", "GitHub Copilot, Cline"],
    ["start_line_one_indexed", "offset", "Cursor"],
    ["view_range", rangeOf, "Anthropic's text editor"],
  ],
  write_file: [
    ["file_path", "path", "Claude Code, Gemini CLI, opencode"],
    ["target_file", "path", "Cursor"],
    ["file", "path", "general"],
    ["file_text", "content", "Anthropic's text editor"],
    ["contents", "content", "Cursor"],
  ],
  patch: [
    ["file_path", "path", "Claude Code, Gemini CLI, opencode"],
    ["target_file", "path", "Cursor"],
    ["file", "path", "general"],
    ["old_str", "old_string", "Anthropic's text editor, OpenHands"],
    ["new_str", "new_string", "Anthropic's text editor, OpenHands"],
    ["old_text", "old_string", "pi"],
    ["new_text", "new_string", "pi"],
    ["input", "patch", "Codex CLI"],
    ["diff", "patch", "Roo Code"],
  ],
  search_files: [
    ["query", "pattern", "Cursor, GitHub Copilot"],
    ["regex", "pattern", "Cline"],
    ["include", "file_glob", "Codex CLI, Gemini CLI, opencode"],
    ["include_pattern", "file_glob", "Cursor, GitHub Copilot"],
    ["file_pattern", "file_glob", "Cline"],
    ["glob", "file_glob", "Claude Code"],
    ["directory", "path", "general"],
    ["dir_path", "path", "Gemini CLI"],
    ["head_limit", "limit", "Claude Code"],
    ["max_results", "limit", "GitHub Copilot"],
    ["_c", "context", "Claude Code, as -C"],
  ],
  todo: [
    ["plan", (value) => ({ todos: planOf(value) }), "Codex CLI"],
    ["items", "todos", "general"],
  ],
};

/** Values that another agent's tool takes for an argument of the same name. */
const VALUES: Readonly<Record<string, readonly Row<(value: unknown) => unknown>[]>> = {
  terminal: [
    ["command", (value) => (Array.isArray(value) ? joinWords(value) : value), "Codex CLI"],
    [
      "timeout",
      (value) => (isMilliseconds(value) ? secondsOf(value) : value),
      "Claude Code, opencode, Codex CLI",
    ],
  ],
  write_file: [["content", contentOf, "models that write JSON files"]],
  search_files: [
    ["output_mode", (value) => (value === "files_with_matches" ? "files_only" : value), "Claude Code"],
  ],
};

/** Words of a model about its own call, which no tool needs; all others that are unknown are told to it. */
const REMARKS = new Set([
  "description", // Claude Code, opencode, Gemini CLI
  "explanation", // Cursor, GitHub Copilot, Codex CLI
  "justification", // Codex CLI
  "instructions", // Cursor
  "reasoning",
  "thought",
  "security_risk", // OpenHands
  "requires_approval", // Cline
  "should_read_entire_file", // Cursor
]);

export type Arguments = Readonly<Record<string, unknown>>;

/** The name under which a tool is known here; of a name that nobody knows, only the prefix is gone. */
export function ourToolName(name: string): string {
  const plain = name.replace(/^.*[.:]/, "");
  return TOOLS.find(([theirs]) => theirs === plain.toLowerCase())?.[1] ?? plain;
}

/** The arguments as the tool knows them, and the names of those that it does not have. */
export function readHabits(
  tool: string,
  given: Arguments,
  known: readonly string[],
): { readonly input: Arguments; readonly unknown: readonly string[] } {
  const entries = new Map<string, unknown>();
  const unknown: string[] = [];
  const theirs: Arguments[] = [];
  const meantBy = (name: string, value: unknown): unknown =>
    VALUES[tool]?.find(([one]) => one === name)?.[1](value) ?? value;
  for (const [key, value] of Object.entries(given)) {
    const name = known.includes(key) ? key : toSnakeCase(key);
    const meaning = ARGUMENTS[tool]?.find(([one]) => one === name)?.[1];
    if (known.includes(name)) entries.set(name, meantBy(name, value));
    else if (meaning !== undefined)
      theirs.push(typeof meaning === "string" ? { [meaning]: value } : meaning(value));
    else if (!REMARKS.has(name)) unknown.push(key);
  }
  // What a model wrote under our own name wins.
  for (const [key, value] of theirs.flatMap((one) => Object.entries(one)))
    if (!entries.has(key)) entries.set(key, meantBy(key, value));
  return { input: Object.fromEntries(entries), unknown };
}

/** `filePath`, `file-path` and `FILE_PATH` are `file_path`. */
export function toSnakeCase(name: string): string {
  return name
    .replace(/([a-z0-9])([A-Z])/g, "$1_$2")
    .replaceAll("-", "_")
    .toLowerCase();
}

/** No command may take so many seconds. */
function isMilliseconds(value: unknown): boolean {
  return Number(value) >= 10_000;
}

function secondsOf(value: unknown): unknown {
  const milliseconds = Number(value);
  return Number.isFinite(milliseconds) ? Math.max(1, Math.ceil(milliseconds / 1_000)) : value;
}

function rangeOf(value: unknown): Arguments {
  const [first, last] = Array.isArray(value) ? value.map(Number) : [];
  if (first === undefined) return {};
  return last === undefined || last < first ? { offset: first } : { offset: first, limit: last - first + 1 };
}

/** The text of a file that was given as the value of its JSON. */
function contentOf(value: unknown): unknown {
  if (typeof value === "string" || value === null) return value;
  return typeof value === "object" ? `${JSON.stringify(value, undefined, 2)}\n` : String(value);
}

function planOf(value: unknown): unknown {
  if (!Array.isArray(value)) return value;
  return value.map((item: unknown) =>
    typeof item === "object" && item !== null && "step" in item ? { ...item, content: item.step } : item,
  );
}

/** `["bash", "-lc", "ls"]` is the command `ls`; other words are quoted. */
function joinWords(words: readonly unknown[]): string {
  const texts = words.map(String);
  const [shell = "", flag = "", script] = texts;
  if (
    texts.length === 3 &&
    script !== undefined &&
    /^(?:\/bin\/)?(?:ba|z)?sh$/.test(shell) &&
    /^-l?c$/.test(flag)
  )
    return script;
  return texts
    .map((word) => (/^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`))
    .join(" ");
}
