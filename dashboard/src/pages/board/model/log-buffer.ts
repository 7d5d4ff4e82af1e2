/** A piece of a log: the bytes `from` to `to` of what is kept of it. */
export interface LogPiece {
  readonly text: string;
  readonly from: number;
  readonly to: number;
  /** Changes when the beginning of the log was removed, so that offsets have moved. */
  readonly part: string;
}

export interface LogBuffer {
  /** The complete lines, and the last one as far as it is written. */
  readonly lines: readonly string[];
  readonly from: number;
  readonly to: number;
  readonly part: string;
  /** Counts the lines that were dropped at the top, so that each line keeps its number. */
  readonly dropped: number;
}

/** More would make the page slow, and nobody reads them here. */
export const MAX_LINES = 5_000;

export function openLog(piece: LogPiece): LogBuffer {
  return trimLog({
    lines: piece.text.split("\n"),
    from: piece.from,
    to: piece.to,
    part: piece.part,
    dropped: 0,
  });
}

/** The log with what was appended; undefined when something is missing in between and the log must be read again. */
export function appendLog(log: LogBuffer, piece: LogPiece): LogBuffer | undefined {
  if (piece.part !== log.part) return undefined;
  if (piece.to <= log.to) return log;
  if (piece.from !== log.to) return undefined;
  const [first = "", ...rest] = piece.text.split("\n");
  const last = log.lines.at(-1) ?? "";
  const lines = [...log.lines.slice(0, -1), last + first, ...rest];
  return trimLog({ ...log, lines, to: piece.to });
}

/** The log with the piece before it. */
export function prependLog(log: LogBuffer, piece: LogPiece): LogBuffer {
  if (piece.part !== log.part || piece.to !== log.from) return log;
  const earlier = piece.text.split("\n");
  const joined = (earlier.pop() ?? "") + (log.lines[0] ?? "");
  return { ...log, lines: [...earlier, joined, ...log.lines.slice(1)], from: piece.from };
}

function trimLog(log: LogBuffer): LogBuffer {
  const excess = log.lines.length - MAX_LINES;
  if (excess <= 0) return log;
  return { ...log, lines: log.lines.slice(excess), dropped: log.dropped + excess };
}

/** Escape sequences of a terminal: colours and movements, titles, single commands. */
const SEQUENCES = new RegExp(
  [
    String.raw`\x1b\[[0-?]*[ -/]*[@-~]`,
    String.raw`\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)`,
    String.raw`\x1b[@-_]`,
  ].join("|"),
  "g",
);
/** What is left of control characters, and what turns the direction of text around. */
const CONTROLS = /(?!\t)\p{Cc}|[\u202a-\u202e\u2066-\u2069]/gu;

/** A line without colours, and without characters that would change the text around it. */
export function plainLine(line: string): string {
  const afterReturn = line.replace(/\r+$/, "");
  const visible = afterReturn.slice(afterReturn.lastIndexOf("\r") + 1);
  return visible.replace(SEQUENCES, "").replace(CONTROLS, "");
}
