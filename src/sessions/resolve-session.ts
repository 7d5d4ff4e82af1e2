import { AppError } from "../lib/errors.ts";
import { findClosest } from "../lib/text/did-you-mean.ts";
import { LATEST } from "./changes/session-title.ts";
import { INTERNAL_SOURCES, type SessionSummary } from "./session.ts";
import type { SessionList } from "./session-list.ts";

/** The session that the user selects: `-c`, `-c TITLE`, `-r ID|PREFIX|TITLE|latest`. */
export interface SessionChoice {
  /** True for the latest session, or a title. */
  readonly continue?: true | string | undefined;
  /** An id, a prefix of an id, a title, or "latest". */
  readonly resume?: string | undefined;
  /** Only sessions of this folder count as latest. */
  readonly cwd?: string | undefined;
}

const CANDIDATES = 10;
const KNOWN_NAMES = 500;

/** The selected session; undefined if none was selected. Every entry point uses this function. */
export function resolveSession(sessions: SessionList, choice: SessionChoice): SessionSummary | undefined {
  if (choice.resume !== undefined) {
    return choice.resume === LATEST
      ? requireLatest(sessions, choice.cwd)
      : requireNamed(sessions, choice.resume);
  }
  if (choice.continue === undefined) return undefined;
  return choice.continue === true
    ? requireLatest(sessions, choice.cwd)
    : requireTitled(sessions, choice.continue);
}

/** Includes one-shot runs, because `-c` right after a one-shot run continues that run. */
function requireLatest(sessions: SessionList, cwd: string | undefined): SessionSummary {
  const [newest] = sessions.list({ without: INTERNAL_SOURCES, cwd, archived: false, limit: 1 });
  if (newest !== undefined) return newest;
  const where = cwd === undefined ? "" : ` in ${cwd}`;
  throw new AppError("session-not-found", `There is no session to continue${where} yet.`, {
    hint: 'Start one with `hermes -z "TASK"`.',
  });
}

function requireTitled(sessions: SessionList, title: string): SessionSummary {
  const found = sessions.findByTitle(title.trim());
  if (found !== undefined) return found;
  throw notFound(sessions, title, "called");
}

function requireNamed(sessions: SessionList, text: string): SessionSummary {
  const word = text.trim();
  const exact = sessions.find(word) ?? sessions.findByTitle(word);
  if (exact !== undefined) return exact;
  const candidates = /^[\da-f_]+$/.test(word) ? sessions.findByPrefix(word, CANDIDATES + 1) : [];
  const [only, another] = candidates;
  if (only === undefined) throw notFound(sessions, word, "with the id or title");
  if (another === undefined) return only;
  const shown = candidates.slice(0, CANDIDATES).map(describe);
  const more = candidates.length > CANDIDATES ? "\n  …" : "";
  throw new AppError(
    "session-ambiguous",
    `Several sessions begin with ${word}:\n  ${shown.join("\n  ")}${more}`,
  );
}

function describe({ id, title }: SessionSummary): string {
  return title === undefined ? id : `${id}  ${title}`;
}

function notFound(sessions: SessionList, word: string, how: string): AppError {
  const known = sessions.list({ limit: KNOWN_NAMES });
  const near = findClosest(
    word,
    known.flatMap(({ id, title }) => (title === undefined ? [id] : [id, title])),
  );
  const hint = near === undefined ? "See `hermes sessions list`." : `Did you mean "${near}"?`;
  return new AppError("session-not-found", `There is no session ${how} "${word}".`, { hint });
}
