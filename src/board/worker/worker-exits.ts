/** The exit codes by which a worker tells its supervisor how it ended. */
export const WORKER_EXITS = {
  /** After a call that ended the run; without one it broke the protocol. */
  over: 0,
  failed: 1,
  /** A limit of requests, time or money. */
  budget: 3,
  /** The board could not be reached, which is no fault of the task. */
  infrastructure: 74,
  /** The provider's rate or plan is used up for now. */
  quota: 75,
  /** No attempt can succeed before a person changes settings: key, model or configuration. */
  provider: 78,
  /** It was told to end. */
  terminated: 143,
} as const;
