import { describe, expect, it } from "vitest";
import { parseTimestamp } from "./container.ts";

describe("parseTimestamp", () => {
  it("C41: parses a fraction of nine digits, in UTC", () => {
    expect(parseTimestamp("2026-11-15T11:17:07.171011473Z")).toBe(Date.UTC(2026, 10, 15, 11, 17, 7, 171));
  });

  it.each([
    ["2026-11-15T11:17:07Z", Date.UTC(2026, 10, 15, 11, 17, 7)],
    ["2026-11-15T12:17:07.5+01:00", Date.UTC(2026, 10, 15, 11, 17, 7, 500)],
  ])("parses %s", (text, timestamp) => {
    expect(parseTimestamp(text)).toBe(timestamp);
  });

  it.each([undefined, "", "0001-01-01T00:00:00Z", "yesterday", "2026-13-45T99:99:99Z"])(
    "C40: returns undefined for %s",
    (text) => {
      expect(parseTimestamp(text)).toBeUndefined();
    },
  );
});
