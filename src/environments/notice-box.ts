import type { Reporter } from "./environment-request.ts";

/** Keeps notices for the next result, so that its reader has them; progress cannot wait and goes on at once. */
export function createNoticeBox({ onProgress }: Reporter): {
  readonly tell: Reporter;
  take(): readonly string[];
} {
  const notices: string[] = [];
  return {
    tell: { onProgress, onNotice: (text) => void notices.push(text) },
    take: () => notices.splice(0),
  };
}
