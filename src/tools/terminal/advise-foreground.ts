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

export interface ForegroundAdvice {
  readonly refusal: string | undefined;
  /** A hint for a command that runs; only a guess, so it is never a reason to refuse. */
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
