/** For a call that must run to its end whatever else is cancelled. */
export const neverAborted = new AbortController().signal;
