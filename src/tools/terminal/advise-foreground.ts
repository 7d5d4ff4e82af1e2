const QUOTED = /'[^']*'|"(?:[^"\\]|\\.)*"|`[^`]*`/g;
const AT_COMMAND = String.raw`(?:^|[;&|(\n]\s*)`;
const DETACHING = new RegExp(`${AT_COMMAND}(nohup|disown|setsid)\\b`);
const LOOKS_ONLY = /\s(?:--help|-h|--version|-v)(?:\s|$)/;
/** A single `&`: not `&&`, not a redirection. */
const AMPERSAND = /(?<![&>|])&(?![&>])/;

/** Why a foreground command should be a background one; undefined when it may run. Quoted text does not count. */
export function adviseForeground(command: string): string | undefined {
  const bare = command.replace(QUOTED, "''");
  if (LOOKS_ONLY.test(bare)) return undefined;
  const [, word] = DETACHING.exec(bare) ?? [];
  if (word !== undefined) return `${word} hides the process from Hermes. ${INSTEAD}`;
  if (AMPERSAND.test(bare)) return `A command in the foreground may not leave processes with &. ${INSTEAD}`;
  return undefined;
}

const INSTEAD =
  "Call terminal with background: true and the plain command instead, then use the process tool.";
