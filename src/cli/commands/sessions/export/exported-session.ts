import type { Session, UsageTotals } from "../../../../sessions/session.ts";
import type { TranscriptEntry } from "../../../../sessions/transcript.ts";

/** A session to write to a file, without its undone turns. */
export interface ExportedSession {
  readonly session: Session;
  readonly usage: UsageTotals;
  readonly entries: readonly TranscriptEntry[];
  /** Whether calls, results and reasoning are written too. */
  readonly isWhole: boolean;
  /** Hides secrets and escapes control characters. */
  readonly sanitise: (text: string) => string;
}
