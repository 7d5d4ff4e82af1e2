/** The state of the connection. `away`: the page is hidden and has closed its stream. */
export type LiveState = "connecting" | "live" | "lost" | "away";

export interface LiveStatus {
  readonly state: LiveState;
  /** When the connection was lost, and when the next attempt is. */
  readonly lostAt?: number;
  readonly retryAt?: number;
}
