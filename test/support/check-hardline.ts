import {
  checkReading,
  type HardlineFacts,
  type HardlineRefusal,
  refuseUnreadable,
} from "../../src/policy/hardline/check-hardline.ts";
import type { Meter } from "../../src/policy/shell-reader/meter.ts";
import { readCommand } from "../../src/policy/shell-reader/read-command.ts";

/** Reads a command and checks it against the hardline floor, as the first steps of a decision do. */
export function checkHardline(
  command: string,
  facts: HardlineFacts,
  meter?: Meter,
): HardlineRefusal | undefined {
  const reading = readCommand(command, facts, meter);
  return "unreadable" in reading ? refuseUnreadable(reading) : checkReading(reading, facts);
}
