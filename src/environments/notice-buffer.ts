import type { Reporter } from "./environment-request.ts";

/** Holds notices back until the next command result can carry them; progress lines pass through at once. */
export function createNoticeBuffer({ onProgress }: Reporter) {
  const notices: string[] = [];
  const reporter: Reporter = { onProgress, onNotice: (text) => void notices.push(text) };
  return { reporter, take: (): readonly string[] => notices.splice(0) };
}
