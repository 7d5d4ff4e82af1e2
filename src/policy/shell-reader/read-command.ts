import { findInvocations, type ShellFacts } from "./find-invocations.ts";
import type { Invocation } from "./invocation.ts";
import { LimitReached, Meter } from "./meter.ts";
import type { CompoundCommand } from "./syntax.ts";
import { removeInvisible } from "./values/normalize-word.ts";

/** Everything that the text of a command would start, read once for all steps of a decision. */
export interface CommandReading {
  /** The programs of the raw text. If it contains invisible characters, the programs of the text without them follow. */
  readonly invocations: readonly Invocation[];
  readonly functions: readonly CompoundCommand[];
  /** All variables that the text sets, for itself or for a program, with their possible values. */
  readonly variables: ReadonlyMap<string, readonly string[]>;
  /** Whether the shell evaluates values as arithmetic, subscripts or prompts. Commands hidden in such values would run. */
  readonly evaluates: boolean;
}

/** Why a command cannot be read, and therefore must not run. */
export interface UnreadableCommand {
  readonly unreadable: "quoting" | "limits";
  readonly problem: string;
}

/** Longer texts are data, which belongs in a file. */
export const MAX_COMMAND_LENGTH = 1_000_000;

/** Reads a command in a number of steps that is linear in its length. */
export function readCommand(
  command: string,
  facts: ShellFacts,
  meter: Meter = new Meter(command.length),
): CommandReading | UnreadableCommand {
  if (command.length > MAX_COMMAND_LENGTH) {
    const problem = `it is longer than ${MAX_COMMAND_LENGTH.toLocaleString("en")} characters`;
    return { unreadable: "limits", problem };
  }
  try {
    const raw = findInvocations(command, facts, meter);
    if (raw.malformed !== undefined) return { unreadable: "quoting", problem: raw.malformed };
    const visible = removeInvisible(command);
    if (visible === command) return raw;
    // The raw text determines whether quotes are closed. The visible text serves only to reveal disguised commands.
    const shown = findInvocations(visible, facts, meter);
    return {
      invocations: [...raw.invocations, ...shown.invocations],
      functions: [...raw.functions, ...shown.functions],
      variables: new Map([...shown.variables, ...raw.variables]),
      evaluates: raw.evaluates || shown.evaluates,
    };
  } catch (error) {
    if (!(error instanceof LimitReached)) throw error;
    return { unreadable: "limits", problem: error.message };
  }
}
