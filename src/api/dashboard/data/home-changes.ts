/** Tells that something was written to a board or to the sessions of a home, by any process. */
export interface HomeChanges {
  watch(signal: AbortSignal): Promise<HomeWatch>;
}

export interface HomeWatch extends AsyncDisposable {
  /** Resolves after the next write, or after `atMostMs`. */
  next(atMostMs: number, signal: AbortSignal): Promise<void>;
}
