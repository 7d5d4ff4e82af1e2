import type { App } from "../app/app.ts";
import { AppError } from "../lib/errors.ts";

/** One result of a check: `fail` breaks something now, `warn` may break something later, `note` matters only in some setups. */
export interface Finding {
  readonly name: string;
  readonly status: "ok" | "note" | "warn" | "fail";
  readonly detail: string;
  /** What to do about it; empty if there is nothing to do. */
  readonly fix: string;
  /** Applies `fix` automatically; only present where that is safe. */
  readonly repair?: () => Promise<void>;
}

export function finding(name: string, status: Finding["status"], detail: string, fix = ""): Finding {
  return { name, status, detail, fix };
}

export interface CheckInput {
  readonly app: App;
  /** The folder that local commands would run in; throws `folder-gone`. */
  cwd(): string;
  /** Whether the checks may send requests over the network, which may cost money. */
  readonly online: boolean;
  readonly signal: AbortSignal;
}

export type Check = (input: CheckInput) => Promise<readonly Finding[]>;

/** Turns a known failure of a check into a finding. */
export async function orFinding(
  name: string,
  status: Finding["status"],
  check: () => Promise<Finding[]>,
): Promise<Finding[]> {
  try {
    return await check();
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    return [finding(name, status, error.message, error.hint)];
  }
}
