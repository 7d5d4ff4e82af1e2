import { AppError, type ErrorCode, errnoOf, messageOf } from "../../lib/errors.ts";

const CHECK_SERVER =
  "Check kanban.database_url, that the PostgreSQL server is running, and that it accepts your login.";

/** Known failures by SQLSTATE, or by the errno of a failed connection. */
const MEANINGS: readonly { readonly when: RegExp; readonly code: ErrorCode; readonly hint: string }[] = [
  {
    when: /^(XX00[12])$/,
    code: "database-damaged",
    hint: "Contact the administrator of the PostgreSQL server.",
  },
  { when: /^(55P03|40001|40P01|53300)$/, code: "database-busy", hint: "Try again in a moment." },
  { when: /^(53100|53200|54)/, code: "database-unavailable", hint: "Free some space on the server." },
  { when: /^25006$/, code: "database-unavailable", hint: "The server is read-only; use the primary server." },
  { when: /^(08|28|3D|57P|42501)/, code: "database-unavailable", hint: CHECK_SERVER },
  { when: /^(3F000|42P01)$/, code: "board-not-found", hint: "The board was removed." },
  { when: /^E[A-Z_]+$/, code: "database-unavailable", hint: CHECK_SERVER },
];

/** Whether the database rolled a transaction back due to a conflict, so that it can be retried. */
export function isRetryable(error: unknown): boolean {
  return ["40001", "40P01"].includes(errnoOf(error) ?? "");
}

/** Maps an error of PostgreSQL or its connection to an `AppError`; returns an unknown error unchanged. */
export function postgresError(error: unknown, name: string): unknown {
  if (error instanceof AppError) return error;
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
