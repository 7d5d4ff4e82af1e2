import fc from "fast-check";
import { expect, test } from "vitest";
import { createRedactor } from "./redactor.ts";
import { createStreamRedactor } from "./stream-redactor.ts";

const { redact } = createRedactor({ secrets: ["correct-horse-battery"] });

/** The redacted text of a stream that arrives in pieces of this size. */
function stream(text: string, size: number): string {
  const redactor = createStreamRedactor(redact);
  let shown = "";
  for (let at = 0; at < text.length; at += size) shown += redactor.take(text.slice(at, at + size));
  return shown + redactor.end();
}

const KEY = [
  "-----BEGIN PRIVATE KEY-----",
  ...Array.from({ length: 40 }, () => "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj"),
  "-----END PRIVATE KEY-----",
].join("\n");

test("agent K6: a secret is hidden wherever the pieces of a stream are cut", () => {
  const filler = fc.integer({ min: 0, max: 150_000 });
  const separator = fc.constantFrom("\n", " ", "");
  const secret = fc.constantFrom("correct-horse-battery", "\nDB_PASSWORD=hunter2hunter2\n", `\n${KEY}\n`);
  fc.assert(
    fc.property(
      filler,
      filler,
      separator,
      secret,
      fc.integer({ min: 1_000, max: 70_000 }),
      (one, other, gap, value, size) => {
        const line = `xy${gap}`;
        const text = `${line.repeat(one / line.length)}${value}${line.repeat(other / line.length)}`;
        const shown = stream(text, size);
        expect(shown).toContain("«redacted:");
        expect(shown).not.toMatch(/correct-horse|hunter2|MIIEvQ/);
        expect(shown.length).toBeGreaterThan(text.length - value.length - 200);
      },
    ),
    { numRuns: 60 },
  );
});

test("text without secrets passes unchanged, and little of it is held back", () => {
  const text = "a line of text\n".repeat(40_000);
  expect(stream(text, 999)).toBe(text);
  const redactor = createStreamRedactor(redact);
  expect(redactor.take(text).length).toBeGreaterThan(text.length - 200_000);
});
