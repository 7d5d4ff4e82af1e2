/** What the connection is doing. `away`: the page is hidden and has let go of its stream. */
export type LiveState = "connecting" | "live" | "lost" | "away";

export interface LiveStatus {
  readonly state: LiveState;
  /** When the connection was lost, and when it is tried again. */
  readonly lostAt?: number;
  readonly retryAt?: number;
}
