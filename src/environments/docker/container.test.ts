import { describe, expect, it } from "vitest";
import { parseMoment } from "./container.ts";

describe("parseMoment", () => {
  it("C41: takes nine digits of a fraction, in UTC", () => {
    expect(parseMoment("2026-11-15T11:17:07.171011473Z")).toBe(Date.UTC(2026, 10, 15, 11, 17, 7, 171));
  });

  it.each([
    ["2026-11-15T11:17:07Z", Date.UTC(2026, 10, 15, 11, 17, 7)],
    ["2026-11-15T12:17:07.5+01:00", Date.UTC(2026, 10, 15, 11, 17, 7, 500)],
  ])("takes %s", (text, moment) => {
    expect(parseMoment(text)).toBe(moment);
  });

  it.each([undefined, "", "0001-01-01T00:00:00Z", "yesterday", "2026-13-45T99:99:99Z"])(
    "C40: does not know %s",
    (text) => {
      expect(parseMoment(text)).toBeUndefined();
    },
  );
});
