import { AppError, type ErrorCode, errnoOf, messageOf } from "../../lib/errors.ts";
import { TransactionOvertaken } from "./steps.ts";

const CHECK_SERVER = "Check kanban.database_url, and that the PostgreSQL server runs and lets you in.";

/** By SQLSTATE, or by the errno of a connection that failed. */
const MEANINGS: readonly { readonly when: RegExp; readonly code: ErrorCode; readonly hint: string }[] = [
  { when: /^(XX00[12])$/, code: "database-damaged", hint: "Ask whoever runs the PostgreSQL server." },
  { when: /^(55P03|40001|40P01|53300)$/, code: "database-busy", hint: "Try again in a moment." },
  { when: /^(53100|53200|54)/, code: "database-unavailable", hint: "Free some space on the server." },
  { when: /^25006$/, code: "database-unavailable", hint: "The server allows only reading; use the primary." },
  { when: /^(08|28|3D|57P|42501)/, code: "database-unavailable", hint: CHECK_SERVER },
  { when: /^(3F000|42P01)$/, code: "board-not-found", hint: "Someone has removed the board." },
  { when: /^E[A-Z_]+$/, code: "database-unavailable", hint: CHECK_SERVER },
];

/** Whether the database undid a transaction only because another one was in its way. */
export function isUndone(error: unknown): boolean {
  return ["40001", "40P01"].includes(errnoOf(error) ?? "");
}

/** The known failure behind an error of PostgreSQL or of the way to it, or the error itself when it is none. */
export function postgresError(error: unknown, name: string): unknown {
  if (error instanceof AppError) return error;
  if (error instanceof TransactionOvertaken)
    return new AppError("database-busy", `${name}: others were always faster`, { cause: error });
  const code =
    errnoOf(error) ??
    (/^(Connection terminated|Client has encountered|timeout exceeded)/.test(messageOf(error))
      ? "08006"
      : "");
  const meaning = MEANINGS.find(({ when }) => when.test(code));
  if (meaning === undefined) return error;
  return new AppError(meaning.code, `${name}: ${messageOf(error) || code}`, {
    cause: error,
    hint: meaning.hint,
  });
}
