import type { Invocation } from "../../shell-reader/invocation.ts";
import type { CommandFacts, Match } from "../command-classes.ts";

/** What a rule may use besides the invocation. */
export interface RuleContext {
  readonly facts: CommandFacts;
  /** The absolute paths of files that programs of the command download or decode. */
  readonly fetched: ReadonlyMap<string, "remote-code" | "decoded-code">;
  /** Whether any program of the command downloads or decodes something. */
  readonly fetches: boolean;
}

/** Recognizes the commands of one or a few classes. */
export type ClassRule = (invocation: Invocation, context: RuleContext) => Match | undefined;
