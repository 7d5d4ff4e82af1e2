import { AppError, type ErrorCode, errnoOf, messageOf } from "./errors.ts";

interface Meaning {
  readonly when: RegExp;
  readonly code: ErrorCode;
  readonly hint?: string;
}

const MEANINGS: readonly Meaning[] = [
  { when: /^SQLITE_(BUSY|LOCKED|PROTOCOL)/, code: "database-busy" },
  { when: /^SQLITE_(NOTADB|CORRUPT|IOERR_CORRUPTFS|IOERR_DATA)/, code: "database-damaged" },
  {
    when: /^SQLITE_FULL/,
    code: "database-unavailable",
    hint: "Free some space on its disk; what was saved before is still there.",
  },
  { when: /^SQLITE_(IOERR|CANTOPEN|READONLY|PERM|NOLFS)/, code: "database-unavailable" },
];

/** Whether another connection was in the way, so that the same call may succeed in a moment. */
export function isBusy(error: unknown): boolean {
  return /^SQLITE_(BUSY|PROTOCOL)/.test(errnoOf(error) ?? "");
}

/** The known failure behind an error of SQLite, or the error itself when it is none. */
export function databaseError(error: unknown, path: string): unknown {
  const code = errnoOf(error) ?? "";
  const meaning = MEANINGS.find(({ when }) => when.test(code));
  if (meaning === undefined) return error;
  const hint = meaning.hint === undefined ? {} : { hint: meaning.hint };
  return new AppError(meaning.code, `${path}: ${messageOf(error)} (${code})`, { cause: error, ...hint });
}
