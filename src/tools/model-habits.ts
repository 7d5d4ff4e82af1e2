/**
 * Maps the tool names, arguments and values that models have learnt from other agents to those of Hermes. Comments name
 * the agents.
 */

/** Names of each tool in other agents, lower-cased, without a prefix such as `functions.` (gpt-oss) or `default_api:` (Gemini). */
const TOOLS: Readonly<Record<string, string>> = {
  // Claude Code, opencode, pi; Codex CLI (3); Gemini CLI, Qwen Code; Cursor; GitHub Copilot; Cline; OpenHands
  terminal:
    "bash shell local_shell exec_command run_shell_command run_terminal_cmd run_in_terminal execute_command execute_bash",
  read_file: "read", // Claude Code, opencode, pi
  write_file: "write write_to_file create_file", // Claude Code, opencode, pi; Cline; GitHub Copilot
  patch: "edit replace apply_patch replace_string_in_file", // Claude Code, opencode, pi; Gemini CLI; Codex CLI; GitHub Copilot
  search_files: "grep grep_files grep_search search_file_content", // Claude Code, opencode; Codex CLI; Cursor; Gemini CLI
  todo: "todowrite todo_write update_plan", // Claude Code, opencode; Cursor; Codex CLI
};

/** Names of each tool's arguments in other agents, in snake_case: `filePath` (opencode, GitHub Copilot) is read as `file_path`. */
const ARGUMENTS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  terminal: {
    command: "cmd", // Codex CLI
    workdir: "cwd working_directory directory dir_path", // Cline, OpenHands; Cursor; Gemini CLI (2)
    background: "run_in_background is_background", // Claude Code; Cursor, GitHub Copilot, Qwen Code
    pty: "tty", // Codex CLI
  },
  process: {
    session_id: "id process_id bash_id shell_id", // general (2); Claude Code (2)
    data: "input chars", // general; Codex CLI
  },
  read_file: {
    // Claude Code, Codex CLI, Gemini CLI, opencode; Gemini CLI; Cursor; general
    path: "file_path absolute_path target_file file",
    offset: "start_line start_line_one_indexed", // GitHub Copilot, Cline; Cursor
  },
  write_file: {
    path: "file_path target_file file", // Claude Code, Gemini CLI, opencode; Cursor; general
    content: "file_text contents", // Anthropic's text editor; Cursor
  },
  patch: {
    path: "file_path target_file file", // Claude Code, Gemini CLI, opencode; Cursor; general
    old_string: "old_str old_text", // Anthropic's text editor, OpenHands; pi
    new_string: "new_str new_text", // Anthropic's text editor, OpenHands; pi
    patch: "input diff", // Codex CLI; Roo Code
  },
  search_files: {
    pattern: "query regex", // Cursor, GitHub Copilot; Cline
    // Codex CLI, Gemini CLI, opencode; Cursor, GitHub Copilot; Cline; Claude Code
    file_glob: "include include_pattern file_pattern glob",
    path: "directory dir_path", // general; Gemini CLI
    limit: "head_limit max_results", // Claude Code; GitHub Copilot
    context: "_c", // Claude Code, as -C
  },
  todo: { todos: "items" }, // general
};

type Convert<Result> = Readonly<Record<string, Readonly<Record<string, (value: unknown) => Result>>>>;

/** Arguments of other agents that are converted to an argument of ours with another value. */
const CONVERTED: Convert<Arguments> = {
  terminal: { timeout_ms: (value) => ({ timeout: secondsOf(value) }) }, // Codex CLI
  read_file: { view_range: rangeOf }, // Anthropic's text editor
  todo: { plan: (value) => ({ todos: planOf(value) }) }, // Codex CLI
};

/** Values that other agents' tools accept for an argument of the same name. */
const VALUES: Convert<unknown> = {
  terminal: {
    command: (value) => (Array.isArray(value) ? joinWords(value) : value), // Codex CLI
    timeout: (value) => (isMilliseconds(value) ? secondsOf(value) : value), // Claude Code, opencode, Codex CLI
  },
  write_file: { content: contentOf }, // models that write JSON files
  search_files: { output_mode: (value) => (value === "files_with_matches" ? "files_only" : value) }, // Claude Code
};

/** A model's remarks about its own call, ignored silently; other unknown arguments are reported to the model. */
const REMARKS = new Set(
  // Claude Code, opencode, Gemini CLI; Cursor, GitHub Copilot, Codex CLI; Codex CLI; Cursor; general (2); OpenHands; Cline; Cursor
  (
    "description explanation justification instructions reasoning thought security_risk requires_approval " +
    "should_read_entire_file"
  ).split(" "),
);

export type Arguments = Readonly<Record<string, unknown>>;

/** Our name of a tool; an unknown name is returned without its prefix. */
export function mapToolName(name: string): string {
  const plain = name.replace(/^.*[.:]/, "");
  return findOwn(TOOLS, plain.toLowerCase()) ?? plain;
}

function findOwn(names: Readonly<Record<string, string>>, theirs: string): string | undefined {
  return Object.keys(names).find((ours) => names[ours]?.split(" ").includes(theirs));
}

/** Maps the given arguments to the tool's own, and lists the names of unknown arguments. */
export function mapArguments(
  tool: string,
  given: Arguments,
  known: readonly string[],
): { readonly input: Arguments; readonly unknown: readonly string[] } {
  const entries = new Map<string, unknown>();
  const unknown: string[] = [];
  const mapped: Arguments[] = [];
  const conversions = CONVERTED[tool] ?? {};
  const convert = (name: string, value: unknown): unknown => VALUES[tool]?.[name]?.(value) ?? value;
  for (const [key, value] of Object.entries(given)) {
    const name = known.includes(key) ? key : toSnakeCase(key);
    const ours = findOwn(ARGUMENTS[tool] ?? {}, name);
    const convertAll = Object.hasOwn(conversions, name) ? conversions[name] : undefined;
    if (known.includes(name)) entries.set(name, convert(name, value));
    else if (ours !== undefined) mapped.push({ [ours]: value });
    else if (convertAll !== undefined) mapped.push(convertAll(value));
    else if (!REMARKS.has(name)) unknown.push(key);
  }
  // An argument under our own name takes precedence over a mapped one.
  for (const [key, value] of mapped.flatMap((one) => Object.entries(one)))
    if (!entries.has(key)) entries.set(key, convert(key, value));
  return { input: Object.fromEntries(entries), unknown };
}

/** `filePath`, `file-path` and `FILE_PATH` become `file_path`. */
export function toSnakeCase(name: string): string {
  return name
    .replace(/([a-z0-9])([A-Z])/g, "$1_$2")
    .replaceAll("-", "_")
    .toLowerCase();
}

/** A timeout this large must be in milliseconds, because no command may run for so many seconds. */
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

/** File content that the model gave as a JSON value instead of text. */
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
