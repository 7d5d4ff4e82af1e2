import { shorten } from "../../lib/shorten.ts";
import { findInvocations, type ScriptFindings } from "../shell-reader/find-invocations.ts";
import type { Invocation } from "../shell-reader/invocation.ts";
import { LimitReached, Meter } from "../shell-reader/meter.ts";
import { visibleText } from "../shell-reader/plain-text.ts";
import { judgeDevices } from "./device-rule.ts";
import { judgeFunction } from "./fork-bomb-rule.ts";
import { judgeKill, judgePower } from "./process-rules.ts";
import type { HardlineRule, Refusal } from "./refusal.ts";
import { judgeRemoval } from "./removal-rule.ts";

export interface HardlineFacts {
  /** The home folder of the user as whom the command runs; undefined when it is not known. */
  readonly home: string | undefined;
}

export type HardlineVerdict =
  | { readonly kind: "allowed" }
  | {
      readonly kind: "refused";
      readonly rule: HardlineRule | "quoting" | "limits";
      /** For the model and for people: what was refused, why, and what to do instead. */
      readonly message: string;
    };

/** Longer texts are data, and data belongs into a file. */
export const MAX_COMMAND_LENGTH = 1_000_000;
const MAX_SHOWN = 120;
const ALLOWED: HardlineVerdict = { kind: "allowed" };

/**
 * Refuses what no setting, mode or approval may let through: commands that destroy the machine or a home, or whose
 * text cannot be judged. It reads what a command says; it does not contain what a program does.
 */
export function judgeHardline(
  command: string,
  facts: HardlineFacts,
  meter: Meter = new Meter(command.length),
): HardlineVerdict {
  if (command.length > MAX_COMMAND_LENGTH)
    return refuseLimit(`it is longer than ${MAX_COMMAND_LENGTH.toLocaleString("en")} characters`);
  try {
    const raw = findInvocations(command, facts, meter);
    if (raw.malformed !== undefined) return refuseQuoting(raw.malformed);
    const verdict = judgeFindings(raw, facts);
    const visible = visibleText(command);
    if (verdict.kind === "refused" || visible === command) return verdict;
    // The raw text alone says whether quotes are closed; this one only finds what is hidden from the eye.
    return judgeFindings(findInvocations(visible, facts, meter), facts);
  } catch (error) {
    if (!(error instanceof LimitReached)) throw error;
    return refuseLimit(error.message);
  }
}

function judgeFindings({ invocations, functions }: ScriptFindings, { home }: HardlineFacts): HardlineVerdict {
  for (const invocation of invocations) {
    const refusal =
      judgeRemoval(invocation, home) ??
      judgeDevices(invocation) ??
      judgeKill(invocation) ??
      judgePower(invocation);
    if (refusal) return refuse(refusal, shown(invocation));
    if (invocation.isCut && ["rm", "find", "dd", "shred"].includes(invocation.name))
      return refuseLimit(`${invocation.name} gets more words than can be checked`);
  }
  for (const definition of functions) {
    const refusal = judgeFunction(definition);
    if (refusal) return refuse(refusal, `${definition.name}()`);
  }
  return ALLOWED;
}

function refuse({ rule, effect, advice }: Refusal, command: string): HardlineVerdict {
  const message =
    `Refused, nothing was run: \`${command}\` would ${effect}. This is never allowed: no mode, setting or approval ` +
    `lifts it, and another spelling of the same is refused too, so do not retry it. ${advice}`;
  return { kind: "refused", rule, message };
}

function refuseQuoting(problem: string): HardlineVerdict {
  const message =
    `Refused, nothing was run: ${problem} in the command, so nobody can tell what a shell would make of it. No mode, ` +
    "setting or approval lifts this. Close the quote and send the command again; for a text with many quotes use a " +
    "here-document with a quoted delimiter (<<'EOF') or write it to a file first.";
  return { kind: "refused", rule: "quoting", message };
}

function refuseLimit(problem: string): HardlineVerdict {
  const message =
    `Refused, nothing was run: the command cannot be checked, because ${problem}. No mode, setting or approval lifts ` +
    "this. Write data or a long script to a file with the file tools, and run smaller commands.";
  return { kind: "refused", rule: "limits", message };
}

function shown({ program, args, files }: Invocation): string {
  const redirected = files.map(({ operator, path }) => `${operator} ${path}`);
  const words = [program, ...args, ...redirected].filter((word) => word !== "").join(" ");
  return shorten(words, MAX_SHOWN);
}
