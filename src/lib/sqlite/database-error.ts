import { AppError, type ErrorCode, errnoOf, messageOf } from "../errors.ts";

interface ErrorMapping {
  readonly when: RegExp;
  readonly message?: RegExp;
  readonly code: ErrorCode;
  readonly hint?: string;
}

const MAPPINGS: readonly ErrorMapping[] = [
  { when: /^SQLITE_(BUSY|LOCKED|PROTOCOL)/, code: "database-busy" },
  { when: /^SQLITE_(NOTADB|CORRUPT|IOERR_CORRUPTFS|IOERR_DATA)/, code: "database-damaged" },
  { when: /^SQLITE_ERROR$/, message: /^no such (table|column)/, code: "database-damaged" },
  {
    when: /^SQLITE_FULL/,
    code: "database-unavailable",
    hint: "Free some space on its disk; data saved before is intact.",
  },
  { when: /^SQLITE_(IOERR|CANTOPEN|READONLY|PERM|NOLFS)/, code: "database-unavailable" },
];

/** Whether another connection held the lock, so that a retry may succeed. */
export function isBusy(error: unknown): boolean {
  return /^SQLITE_(BUSY|PROTOCOL)/.test(errnoOf(error) ?? "");
}

const HEALED_BY_TIME = /^(?:ENOSPC|EDQUOT|EIO|EROFS|EMFILE|ENFILE)$/;

/** Whether the same write may succeed later: there was no space, the device failed, or another process held the file. */
export function isHealedByTime(error: unknown): boolean {
  if (error instanceof AppError)
    return error.code === "database-unavailable" || error.code === "database-busy";
  return HEALED_BY_TIME.test(errnoOf(error) ?? "");
}

/** Maps an error of SQLite to a known failure, or returns it unchanged. */
export function mapDatabaseError(error: unknown, path: string): unknown {
  const code = errnoOf(error) ?? "";
  const mapping = MAPPINGS.find(
    ({ when, message }) => when.test(code) && message?.test(messageOf(error)) !== false,
  );
  if (mapping === undefined) return error;
  const hint = mapping.hint === undefined ? {} : { hint: mapping.hint };
  return new AppError(mapping.code, `${path}: ${messageOf(error)} (${code})`, { cause: error, ...hint });
}
