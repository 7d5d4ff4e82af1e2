import type { TurnFacts, TurnNotice } from "../../../../src/api/contract/chat.ts";
import type { Remark } from "../../transcript/turn-view.tsx";
import { pageWords } from "../../words/page-words.ts";

const w = pageWords.chat.notices;

/** The notices of a turn as sentences. */
export function toRemarks(notices: TurnFacts["notices"]): readonly Remark[] {
  return notices.map(({ after, notice }) => ({ after, text: sentence(notice) }));
}

function sentence(notice: TurnNotice): string {
  switch (notice.type) {
    case "notice":
      return notice.text;
    case "retry":
      return w.retry(notice.message, notice.inMs === 0 ? 0 : Math.max(1, Math.round(notice.inMs / 1_000)));
    case "switch":
      return w.switched(notice.from, notice.to, notice.reason);
    case "compacting":
      return w.compacting(notice.tokens);
    case "compacted":
      return w.compacted(notice.before, notice.after);
    case "compaction-failed":
      return `${notice.message} ${notice.hint}`;
    case "cache-broken":
      return w.cacheBroken(notice.what);
  }
}
