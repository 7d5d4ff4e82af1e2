import { formatInvocation, type Invocation } from "../shell-reader/invocation.ts";
import type { CommandReading, UnreadableCommand } from "../shell-reader/read-command.ts";
import { checkDevices } from "./device-rule.ts";
import { checkForkBomb } from "./fork-bomb-rule.ts";
import { checkPermissions } from "./permission-rule.ts";
import { checkKill, checkPower } from "./process-rules.ts";
import type { HardlineRule, Refusal } from "./refusal.ts";
import { checkRemoval } from "./removal-rule.ts";

export interface HardlineFacts {
  /** The home folder of the user who runs the command; undefined if unknown. */
  readonly home: string | undefined;
  /** The working folder in which the command starts, if known. */
  readonly cwd?: string | undefined;
}

export interface HardlineRefusal {
  readonly rule: HardlineRule | UnreadableCommand["unreadable"];
  /** For the model and the user: what was refused, why, and what to do instead. */
  readonly message: string;
}

/**
 * Refuses commands that no setting, mode or approval may allow: those that destroy the machine or a home folder, and
 * those that cannot be checked. Only the text of the command is checked; nothing restricts the programs once they run.
 */
export function checkReading(
  { invocations, functions }: CommandReading,
  { home }: HardlineFacts,
): HardlineRefusal | undefined {
  for (const invocation of invocations) {
    const refusal =
      checkRemoval(invocation, home) ??
      checkPermissions(invocation, home) ??
      checkDevices(invocation) ??
      checkKill(invocation) ??
      checkPower(invocation);
    if (refusal) return refuse(refusal, formatInvocation(invocation));
    if (isUncheckable(invocation))
      return refuseUnreadable({
        unreadable: "limits",
        problem: `${invocation.name} gets more arguments than can be checked`,
      });
  }
  for (const definition of functions) {
    const refusal = checkForkBomb(definition);
    if (refusal) return refuse(refusal, `${definition.name}()`);
  }
  return undefined;
}

function isUncheckable({ name, isCut }: Invocation): boolean {
  return isCut && ["rm", "find", "dd", "shred"].includes(name);
}

function refuse({ rule, effect, advice }: Refusal, command: string): HardlineRefusal {
  const message =
    `Refused, nothing was run: \`${command}\` would ${effect}. This is never allowed: no mode, setting or approval ` +
    `lifts it, and other spellings are refused too, so do not retry it. ${advice}`;
  return { rule, message };
}

/** Refuses a command whose text does not show what would run. */
export function refuseUnreadable({ unreadable, problem }: UnreadableCommand): HardlineRefusal {
  const message =
    unreadable === "quoting"
      ? `Refused, nothing was run: ${problem} in the command, so it is unclear what a shell would run. No mode, ` +
        "setting or approval lifts this. Correct it and send the command again; for a text with many quotes use a " +
        "here-document with a quoted delimiter (<<'EOF') or write the text to a file first."
      : `Refused, nothing was run: the command cannot be checked, because ${problem}. No mode, setting or approval lifts ` +
        "this. Write data or a long script to a file with the file tools, and run smaller commands.";
  return { rule: unreadable, message };
}
