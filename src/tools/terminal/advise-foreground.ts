/** Advice need not read the whole of a program that was written into a command line. */
const LOOKED_AT_CHARS = 20_000;
const HERE_DOCUMENT = /<<-?[ \t]*(["']?)([A-Za-z_]\w*)\1([^\n]*)\n(?:[\s\S]*?\n)??[ \t]*\2[ \t]*(?=\n|$)/g;
const QUOTED = /\\[\s\S]|'[^']*'|"(?:[^"\\]|\\[\s\S])*"|`[^`]*`/g;
const COMMENT = /(?<=^|\s)#[^\n]*/g;
const AT_COMMAND = String.raw`(?:^|[;&|(\n])\s*(?:\w+=\S*\s+)*`;
const DETACHING = new RegExp(`${AT_COMMAND}(nohup|disown|setsid)\\b`);
const LOOKS_ONLY = /\s(?:--help|-h|--version|-v)(?:\s|$)/;
/** A `&` that ends a command: not `&&`, not a redirection, not a part of a word such as an address. */
const AMPERSAND = /(?<![&>|<;])&(?![&>])(?:(?<=\s&)|(?=\s|$))/;
/** Whoever waits for what was started leaves nothing behind: `make & test & wait`. */
const WAIT = /(?:^|[;&|\n])\s*wait\b/;
const LONG_LIVED = new RegExp(
  `${AT_COMMAND}(${[
    String.raw`(?:npm|pnpm|yarn|bun)\s+(?:run\s+)?(?:dev|start|serve|watch)`,
    String.raw`docker(?:\s+|-)compose\s+up(?!\s+(?:\S+\s+)*(?:-d|--detach)\b)`,
    String.raw`(?:npx\s+)?(?:next\s+dev|vite(?!\s+(?:build|optimize))|nodemon|uvicorn|gunicorn)`,
    String.raw`python[\d.]*\s+-m\s+http\.server`,
  ].join("|")})(?=\\s|$|[;&|)])`,
);

/** What a foreground command should not do. */
export interface ForegroundAdvice {
  /** Why it is not run; undefined when it may. */
  readonly refusal: string | undefined;
  /** What to know of one that runs: a guess, and so never a reason to refuse. */
  readonly hint: string | undefined;
}

/** Whether a command should be a background one. Text in quotes, comments and here-documents does not count. */
export function adviseForeground(command: string): ForegroundAdvice {
  const bare = command
    .slice(0, LOOKED_AT_CHARS)
    .replace(HERE_DOCUMENT, "<<''$3")
    .replace(QUOTED, "''")
    .replace(COMMENT, "");
  if (LOOKS_ONLY.test(bare)) return { refusal: undefined, hint: undefined };
  const [, word] = DETACHING.exec(bare) ?? [];
  if (word !== undefined) return refuse(`${word} hides the process from Hermes.`);
  const [, ...followers] = bare.split(AMPERSAND);
  if (followers.length > 0 && !WAIT.test(followers.at(-1) ?? ""))
    return refuse("A command in the foreground may not leave processes with &.");
  const [, server] = LONG_LIVED.exec(bare) ?? [];
  if (server === undefined) return { refusal: undefined, hint: undefined };
  return {
    refusal: undefined,
    hint: `${server.replace(/\s+/g, " ")} usually does not end by itself; with background: true it would run on.`,
  };
}

function refuse(reason: string): ForegroundAdvice {
  return {
    refusal: `${reason} Call terminal with background: true and the plain command instead, then use the process tool.`,
    hint: undefined,
  };
}
