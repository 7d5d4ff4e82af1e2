import { closest } from "../lib/did-you-mean.ts";
import { AppError } from "../lib/errors.ts";
import { INNER_SOURCES, type SessionSummary } from "./session.ts";
import type { SessionList } from "./session-list.ts";

/** How a person says which session: `-c`, `-c TITLE`, `-r ID|PREFIX|TITLE|latest`. */
export interface SessionChoice {
  /** True for the latest, or a title. */
  readonly continue?: true | string | undefined;
  /** An id, the beginning of one, a title, or "latest". */
  readonly resume?: string | undefined;
  /** Only sessions of this folder count as latest. */
  readonly cwd?: string | undefined;
}

const CANDIDATES = 10;
const KNOWN_NAMES = 500;

/** The session that is meant, for every entry point alike; undefined when none was asked for. */
export function resolveSession(sessions: SessionList, choice: SessionChoice): SessionSummary | undefined {
  if (choice.resume !== undefined) {
    return choice.resume === "latest" ? latest(sessions, choice.cwd) : named(sessions, choice.resume);
  }
  if (choice.continue === undefined) return undefined;
  return choice.continue === true ? latest(sessions, choice.cwd) : titled(sessions, choice.continue);
}

/** Also one made by a one-shot run: whoever says "go on" after one means just that. */
function latest(sessions: SessionList, cwd: string | undefined): SessionSummary {
  const [newest] = sessions.list({ without: INNER_SOURCES, cwd, limit: 1 });
  if (newest !== undefined) return newest;
  const where = cwd === undefined ? "" : ` in ${cwd}`;
  throw new AppError("session-not-found", `There is no session to continue${where} yet.`, {
    hint: 'Start one with `hermes -z "TASK"`.',
  });
}

function titled(sessions: SessionList, title: string): SessionSummary {
  const [newest] = sessions.findByTitle(title.trim());
  if (newest !== undefined) return newest;
  throw notFound(sessions, title, "called");
}

function named(sessions: SessionList, text: string): SessionSummary {
  const word = text.trim();
  const exact = sessions.find(word) ?? sessions.findByTitle(word)[0];
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
  const near = closest(
    word,
    known.flatMap(({ id, title }) => (title === undefined ? [id] : [id, title])),
  );
  const hint = near === undefined ? "See `hermes sessions list`." : `Did you mean "${near}"?`;
  return new AppError("session-not-found", `There is no session ${how} "${word}".`, { hint });
}
