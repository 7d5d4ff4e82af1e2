/** What a key may do. Every route of the table names one of these. */
export const SCOPES = ["chat", "runs", "sessions", "jobs", "metrics", "admin"] as const;

export type Scope = (typeof SCOPES)[number];

/** The key that a request came with. Sessions, runs and responses belong to the key that created them. */
export interface Caller {
  readonly id: string;
  readonly name: string;
  readonly scopes: readonly Scope[];
}
