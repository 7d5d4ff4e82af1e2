import { expect, test } from "vitest";
import type { Message } from "../../providers/message.ts";
import { textWidth } from "../terminal/fit-text.ts";
import { recap } from "./recap.ts";

test("C43: the recap of a long session has at most 12 rows that fit, and no code or control characters", () => {
  const pastMessages = Array.from({ length: 200 }, (_, index): Message[] => [
    { role: "user", parts: [{ type: "text", text: `question ${index} ${"long ".repeat(50)}` }] },
    {
      role: "assistant",
      parts: [{ type: "text", text: `\`\`\`sh\nrm -rf /\n\`\`\`\nDone \u001b[2J ${index}.` }],
    },
  ]).flat();
  const rows = recap(
    { pastMessages, turns: 200, title: "a \u001b]0;x", folder: "~/shop", ageMs: 7_300_000 },
    60,
  );
  expect(rows.length).toBeLessThanOrEqual(12);
  expect(rows[0]).toMatch(/^session "a .*" · 200 turns · /);
  expect(rows.at(-1)).toMatch(/^ {2}Done .*199\.$/);
  expect(rows[0]).toMatch(/ · all of it: \/history$/);
  for (const row of rows) {
    expect(textWidth(row)).toBeLessThan(60);
    expect(row).not.toMatch(/rm -rf|\p{Cc}/u);
  }
});
