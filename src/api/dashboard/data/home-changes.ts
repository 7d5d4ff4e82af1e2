/** Reports writes of any process to the boards and sessions of a home. */
export interface HomeChanges {
  watch(signal: AbortSignal): Promise<HomeWatch>;
}

export interface HomeWatch extends AsyncDisposable {
  /** Resolves after the next write, or after `atMostMs`. */
  next(atMostMs: number, signal: AbortSignal): Promise<void>;
}
