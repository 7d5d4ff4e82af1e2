import { describe, expect, it } from "vitest";
import { orphanMaxAgeMs } from "./keep-rules.ts";

describe("orphanMaxAgeMs", () => {
  it.each([
    [300, 600],
    [0, 120],
    [59, 120],
    [61, 122],
  ])(
    "C35, C36: with a lifetime of %i s, a stopped sandbox without a record is kept for %i s",
    (lifetime, age) => {
      expect(orphanMaxAgeMs(lifetime)).toBe(age * 1_000);
    },
  );
});
