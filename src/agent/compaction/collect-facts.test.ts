import { expect, test } from "vitest";
import type { Message, UserMessage } from "../../providers/message.ts";
import { collectFacts } from "./collect-facts.ts";
import { NOTHING_EARLIER } from "./summary-message.ts";

const user = (text: string): UserMessage => ({ role: "user", parts: [{ type: "text", text }] });

function called(callId: string, tool: string, input: object, failed = false): Message[] {
  return [
    { role: "assistant", parts: [{ type: "tool-call", callId, tool, input: JSON.stringify(input) }] },
    { role: "tool", callId, tool, text: failed ? "permission denied" : "ok", failed },
  ];
}

test("A8: calls that may have changed something are listed with their outcome, reads are not", () => {
  const dropped = [
    user("release it"),
    ...called("1", "terminal", { command: "git push origin v7" }),
    ...called("2", "read_file", { path: "src/main.ts" }),
    ...called("3", "write_file", { path: "/srv/notes/v7.md", content: "…" }, true),
  ];
  const options = { maxChars: 5_000, answerable: [], mutates: (tool: string) => tool !== "read_file" };
  const { done, identifiers, said } = collectFacts(dropped, NOTHING_EARLIER, options);
  expect(done).toEqual([
    "terminal git push origin v7: done",
    "write_file /srv/notes/v7.md: not successful: permission denied",
  ]);
  expect(identifiers).toEqual(["src/main.ts", "/srv/notes/v7.md"]);
  expect(said).toEqual(["release it"]);
});

test("A8: a message of the user that the model still gets is not listed again, and the newest facts win", () => {
  const newest = user("and now the notes");
  const dropped = [user("first"), user(`long ${"x".repeat(300)}`), user("second"), newest];
  const options = { maxChars: 30, answerable: [newest], mutates: () => true };
  const { said } = collectFacts(dropped, { ...NOTHING_EARLIER, said: ["earlier"] }, options);
  expect(said).toEqual(["second"]);
});

test("A8: the identifiers of a hostile text are found in linear time", () => {
  const text = "a-".repeat(100_000) + "a/".repeat(100_000) + "f".repeat(100_000);
  const options = { maxChars: 100, answerable: [], mutates: () => true };
  expect(collectFacts([user(text)], NOTHING_EARLIER, options).identifiers.length).toBeLessThan(10);
});
