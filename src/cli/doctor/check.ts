import type { App } from "../../app.ts";
import type { CommandContext } from "../context.ts";

/** One finding: `fail` stops something from working, `warn` will one day, `note` matters only to some. */
export interface Finding {
  readonly name: string;
  readonly status: "ok" | "note" | "warn" | "fail";
  readonly detail: string;
  /** What to do about it; empty when nothing needs doing. */
  readonly fix: string;
  /** Does what `fix` says, where that cannot do any harm. */
  readonly repair?: () => Promise<void>;
}

export interface CheckInput {
  readonly app: App;
  readonly variables: CommandContext["variables"];
  /** Whether other machines may be asked, which may cost something. */
  readonly online: boolean;
  readonly signal: AbortSignal;
}

export type Check = (input: CheckInput) => Promise<readonly Finding[]>;
