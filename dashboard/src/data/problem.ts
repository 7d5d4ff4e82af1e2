import { words } from "../words/words.ts";

/** A failed request, with the server's message if there is one. */
export class Problem extends Error {
  override readonly name = "Problem";
  readonly code: string;
  readonly hint: string | undefined;
  readonly status: number;
  /** Further fields of the answer, as the contract of the route describes them. */
  readonly details: unknown;

  constructor(
    code: string,
    message: string,
    options: { status?: number; hint?: string | undefined; details?: unknown } = {},
  ) {
    super(message);
    this.code = code;
    this.status = options.status ?? 0;
    this.hint = options.hint;
    this.details = options.details;
  }
}

/** Reads the problem from a failed answer, whose body is `{code, message, hint}`. */
export async function problemOf(response: Response): Promise<Problem> {
  const body: unknown = await response.json().catch(() => undefined);
  const { code, message, hint } = (body ?? {}) as { code?: unknown; message?: unknown; hint?: unknown };
  const status = response.status;
  if (typeof code !== "string" || typeof message !== "string")
    return new Problem("unreadable", words.problems.unreadable(status), { status });
  return new Problem(code, message, {
    status,
    hint: typeof hint === "string" ? hint : undefined,
    details: body,
  });
}
