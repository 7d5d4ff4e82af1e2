/** A piece of a log: the bytes from `from` to `to` of its stored part. */
export interface LogPiece {
  readonly text: string;
  readonly from: number;
  readonly to: number;
  /** Changes when the start of the log is deleted, which moves all offsets. */
  readonly part: string;
}

export interface LogBuffer {
  /** The complete lines, and the last one even if it is incomplete. */
  readonly lines: readonly string[];
  readonly from: number;
  readonly to: number;
  readonly part: string;
  /** How many lines were dropped at the top; added to an index, it gives the number of a line. */
  readonly dropped: number;
}

/** More lines would make the page slow. */
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

/** Appends a piece; returns undefined if there is a gap and the log must be read again. */
export function appendLog(log: LogBuffer, piece: LogPiece): LogBuffer | undefined {
  if (piece.part !== log.part) return undefined;
  if (piece.to <= log.to) return log;
  if (piece.from !== log.to) return undefined;
  const [first = "", ...rest] = piece.text.split("\n");
  const last = log.lines.at(-1) ?? "";
  const lines = [...log.lines.slice(0, -1), last + first, ...rest];
  return trimLog({ ...log, lines, to: piece.to });
}

/** Prepends a piece. */
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

/** Escape sequences of a terminal: colours, cursor movements, titles and single commands. */
const SEQUENCES = new RegExp(
  [
    String.raw`\x1b\[[0-?]*[ -/]*[@-~]`,
    String.raw`\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)`,
    String.raw`\x1b[@-_]`,
  ].join("|"),
  "g",
);
/** Remaining control characters, and characters that change the text direction. */
const CONTROLS = /(?!\t)\p{Cc}|[\u202a-\u202e\u2066-\u2069]/gu;

/** A line without colours and control characters. */
export function plainLine(line: string): string {
  const afterReturn = line.replace(/\r+$/, "");
  const visible = afterReturn.slice(afterReturn.lastIndexOf("\r") + 1);
  return visible.replace(SEQUENCES, "").replace(CONTROLS, "");
}
