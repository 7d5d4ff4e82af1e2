import { expect, test } from "vitest";
import {
  countTokens,
  createWindowedModel,
  isSummaryRequest,
  newestText,
  openCompactionLab,
  requireValidHistory,
} from "../../test/support/compaction-lab.ts";
import { scale } from "../../test/support/scale.ts";
import { tempFolder } from "../../test/support/temp-folder.ts";
import { commonPrefixLength } from "../lib/text/common-prefix-length.ts";
import type { ModelRequest } from "../providers/provider.ts";

const WINDOW = 64_000;
const STEPS_PER_TURN = 6;

test(`A8: a session of ${scale.sessionTokens} tokens continues in a window of ${WINDOW}, answers every message and finds early facts`, {
  timeout: 3_600_000,
}, async () => {
  await using folder = await tempFolder();
  let step = 0;
  let turn = 0;
  let spoken = 0;
  /** For each request since the last compaction, the share of its tokens that the previous one contained. */
  let last: readonly { readonly hash: string; readonly tokens: number }[] = [];
  let repeated = 0;
  let sent = 0;
  let compactions = 0;
  const check = ({ messages }: ModelRequest): void => {
    requireValidHistory(messages);
    expect(newestText(messages)).toContain(`question ${turn}.`);
    const now = messages.map((message) => ({ hash: JSON.stringify(message), tokens: countTokens(message) }));
    const same = commonPrefixLength(
      last.map(({ hash }) => hash),
      now.map(({ hash }) => hash),
    );
    if (last.length > 0 && same === last.length) {
      sent += countTokens(messages);
      repeated += now.slice(0, same).reduce((sum, { tokens }) => sum + tokens, 0);
    }
    last = now;
  };
  const model = createWindowedModel(WINDOW, (request) => {
    if (isSummaryRequest(request))
      return { text: `## Goal\nThe user asks questions; ${turn} so far, all answered.` };
    check(request);
    if (step++ % STEPS_PER_TURN < STEPS_PER_TURN - 1)
      return { tool: "fetch", input: { size: 2_000 + (step % 5) * 500 } };
    return { text: `answer ${turn}.` };
  });
  using lab = await openCompactionLab(folder.file("s.sqlite"), model);
  for (turn = 0; spoken < scale.sessionTokens; turn++) {
    const planted = turn < 3 ? ` The password of vault ${turn} is marmalade${turn}.` : "";
    const events = await lab.say(`This is question ${turn}.${planted}`);
    expect(events.at(-1)).toMatchObject({ type: "turn-end", outcome: "completed", text: `answer ${turn}.` });
    expect(events.filter(({ type }) => type === "cache-broken" || type === "compaction-failed")).toEqual([]);
    for (const event of events) {
      if (event.type === "compaction") compactions++;
      if (event.type === "tool-end") spoken += countTokens(event.text);
    }
  }
  expect(compactions).toBeGreaterThan(scale.sessionTokens / WINDOW - 1);
  expect(repeated / sent).toBeGreaterThan(0.95);
  const found = await lab.tools.get("session_search")?.call('{"query":"vault marmalade1"}', {
    callId: "c",
    signal: new AbortController().signal,
    onProgress: () => undefined,
  });
  expect(found?.text).toContain("marmalade1");
  const transcript = lab.store.history().readTranscript(lab.sessionId);
  const messages = transcript.map(({ message }) => message);
  const compacted = transcript.filter(({ isCompacted }) => isCompacted).length;
  requireValidHistory(messages);
  expect(messages).toHaveLength(turn * 2 * STEPS_PER_TURN);
  expect(compacted).toBeGreaterThan(messages.length / 2);
  expect(countTokens(lab.store.loadSession(lab.sessionId).messages)).toBeLessThan(WINDOW);
});
