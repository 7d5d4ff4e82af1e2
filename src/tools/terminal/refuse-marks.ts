import { containsRedactionMark } from "../../lib/redact/redaction-mark.ts";

/** A single search command that cannot write: without redirection, pipe, second command or substitution. */
const ONLY_SEARCHES = /^\s*(?:[ef]?grep|rg)(?:\s+(?:'[^']*'|"[^"$`\\]*"|[^\s'"`$\\;&|<>()]+)+)+\s*$/;
/** Longer commands are not examined but refused. */
const MAX_CHECKED_CHARS = 2_000;

/** Why a command must not run: it contains a redaction mark and may write it over the secret. */
export function refuseMarkedCommand(command: string): string | undefined {
  if (command.length <= MAX_CHECKED_CHARS && ONLY_SEARCHES.test(command)) return undefined;
  return refuseMarkedText(command, "The command");
}

export function refuseMarkedText(text: string, subject: string): string | undefined {
  return containsRedactionMark(text)
    ? `${subject} contains a redaction mark, so it was refused. The mark is Hermes' placeholder for a secret that you were not shown, and writing it would destroy the secret. Leave such lines unchanged, and change the other lines with patch. A command that needs the secret reads it from its file or variable.`
    : undefined;
}
