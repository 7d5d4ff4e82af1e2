/** Only the beginning of a longer command is checked, because it may contain a whole program. */
const MAX_CHECKED_CHARS = 20_000;
const HERE_DOCUMENT = /<<-?[ \t]*(["']?)([A-Za-z_]\w*)\1([^\n]*)\n(?:[\s\S]*?\n)??[ \t]*\2[ \t]*(?=\n|$)/g;
const QUOTED = /\\[\s\S]|'[^']*'|"(?:[^"\\]|\\[\s\S])*"|`[^`]*`/g;
const COMMENT = /(?<=^|\s)#[^\n]*/g;
const AT_COMMAND = String.raw`(?:^|[;&|(\n])\s*(?:\w+=\S*\s+)*`;
const DETACHING = new RegExp(`${AT_COMMAND}(nohup|disown|setsid)\\b`);
const HELP_ONLY = /\s(?:--help|-h|--version|-v)(?:\s|$)/;
/** An `&` that ends a command: not `&&`, not a redirection, not a part of a word such as a URL. */
const AMPERSAND = /(?<![&>|<;])&(?![&>])(?:(?<=\s&)|(?=\s|$))/;
/** A command that waits for its background processes leaves none behind: `make & test & wait`. */
const WAIT = /(?:^|[;&|\n])\s*wait\b/;
const LONG_LIVED = new RegExp(
  `${AT_COMMAND}(${[
    String.raw`(?:npm|pnpm|yarn|bun)\s+(?:run\s+)?(?:dev|start|serve|watch)`,
    String.raw`docker(?:\s+|-)compose\s+up(?!\s+(?:\S+\s+)*(?:-d|--detach)\b)`,
    String.raw`(?:npx\s+)?(?:next\s+dev|vite(?!\s+(?:build|optimize))|nodemon|uvicorn|gunicorn)`,
    String.raw`python[\d.]*\s+-m\s+http\.server`,
  ].join("|")})(?=\\s|$|[;&|)])`,
);
const WORDS = String.raw`(?:\s+[^\s;&|<>()]+)*`;
/** Programs that open an editor. Without a terminal, an editor waits for keys that never come until the time is up. */
const EDITING = new RegExp(
  `${AT_COMMAND}(?:${[
    String.raw`(?<program>vim?|nvim|nano|pico|crontab\s+-e)(?:\s+[^-+\s;&|<>()][^\s;&|<>()]*)*`,
    String.raw`(?<commit>git(?:\s+-C\s+\S+)?\s+commit)(?<options>${WORDS})`,
    String.raw`(?<continued>git(?:\s+-C\s+\S+)?\s+(?:rebase|cherry-pick|revert|merge)\s+(?:-i|--interactive|--continue))${WORDS}`,
  ].join("|")})\\s*(?:$|[;&|)\\n])`,
);
/** Spares other commands the large pattern, which V8 would have to compile during the first call. */
const MAY_EDIT = /vi|nano|pico|crontab|git/;
const SETS_EDITOR = /(?:EDITOR|VISUAL)=|core\.editor/i;
/** Options that keep `git commit` from opening an editor. */
const HAS_MESSAGE =
  /\s(?:-[a-zA-Z]*[mFC]|--(?:message|file|reuse-message|no-edit|fixup|squash|dry-run|porcelain|short)\b)/;

export interface ForegroundAdvice {
  readonly refusal: string | undefined;
  /** A hint that is added to the result. It is only a guess, so it is no reason to refuse the command. */
  readonly hint: string | undefined;
}

/** Checks whether a command belongs in the background; ignores quoted text, comments and here-documents. */
export function adviseForeground(command: string): ForegroundAdvice {
  const bare = command
    .slice(0, MAX_CHECKED_CHARS)
    .replace(HERE_DOCUMENT, "<<''$3")
    .replace(QUOTED, "''")
    .replace(COMMENT, "");
  if (HELP_ONLY.test(bare)) return { refusal: undefined, hint: undefined };
  const [, word] = DETACHING.exec(bare) ?? [];
  if (word !== undefined) return refuse(`${word} hides the process from Hermes.`);
  const [, ...rest] = bare.split(AMPERSAND);
  if (rest.length > 0 && !WAIT.test(rest.at(-1) ?? ""))
    return refuse("A foreground command must not leave background processes with &.");
  const editing = findEditing(bare);
  if (editing !== undefined) return { refusal: editing, hint: undefined };
  const [, server] = LONG_LIVED.exec(bare) ?? [];
  if (server === undefined) return { refusal: undefined, hint: undefined };
  return {
    refusal: undefined,
    hint: `${server.replace(/\s+/g, " ")} usually does not exit by itself; start it with background: true to keep it running.`,
  };
}

function refuse(reason: string): ForegroundAdvice {
  return {
    refusal: `${reason} Call terminal with background: true and the plain command instead, then use the process tool.`,
    hint: undefined,
  };
}

/** Why a command must not run: it opens an editor. */
function findEditing(bare: string): string | undefined {
  if (!MAY_EDIT.test(bare) || SETS_EDITOR.test(bare)) return undefined;
  const { program, commit, options = "", continued } = EDITING.exec(bare)?.groups ?? {};
  if (program !== undefined)
    return `${program} waits in an editor for a person. Change files with patch or write_file.`;
  if (commit !== undefined && !HAS_MESSAGE.test(options))
    return `${commit} without a message waits in an editor for a person. Give the message with -m, or keep the old one with --no-edit.`;
  if (continued !== undefined)
    return `${continued} waits in an editor for a person. Set GIT_EDITOR=true before it to accept the proposed text, or GIT_SEQUENCE_EDITOR to a program that edits the list of commits.`;
  return undefined;
}
