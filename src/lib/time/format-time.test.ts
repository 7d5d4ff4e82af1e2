import { expect, test } from "vitest";
import { formatNear } from "./format-time.ts";

test("a time of another day has its date, however near it is", () => {
  const evening = new Date(2026, 0, 31, 22, 30).getTime();
  expect(formatNear(new Date(2026, 0, 31, 23, 5, 7).getTime(), evening)).toBe("23:05:07");
  expect(formatNear(new Date(2026, 1, 1, 9, 0).getTime(), evening)).toBe("2026-02-01 09:00");
  expect(formatNear(new Date(2026, 0, 30, 23, 59).getTime(), evening)).toBe("2026-01-30 23:59");
});
