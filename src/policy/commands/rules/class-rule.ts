import type { Invocation } from "../../shell-reader/invocation.ts";
import type { CommandFacts, Match } from "../command-classes.ts";

/** What a rule may use besides the invocation itself. */
export interface RuleContext {
  readonly facts: CommandFacts;
  /** Absolute paths of files that an earlier program of the text downloads or decodes. */
  readonly fetched: ReadonlyMap<string, "remote-code" | "decoded-code">;
  /** Whether an earlier program of the text downloads or decodes anything. */
  readonly fetches: boolean;
}

/** Recognizes the commands of one or a few classes. */
export type ClassRule = (invocation: Invocation, context: RuleContext) => Match | undefined;
