import { useSyncExternalStore } from "react";

function subscribe(listener: () => void): () => void {
  document.addEventListener("visibilitychange", listener);
  return () => document.removeEventListener("visibilitychange", listener);
}

/** Whether the page is visible, so that a measurement can end while nobody looks at it. */
export const useVisible = (): boolean => useSyncExternalStore(subscribe, () => !document.hidden);
