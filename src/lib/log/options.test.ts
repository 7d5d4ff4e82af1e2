import { expect, test } from "vitest";
import { loggingOptions } from "./options.ts";

test("everything has a default", () => {
  expect(loggingOptions.parse({})).toEqual({ level: "info", max_size_mb: 5, backup_count: 3 });
});

test.each([{ level: "loud" }, { max_size_mb: 0 }, { backup_count: -1 }, { backup_count: 1.5 }, { extra: 1 }])(
  "%j is refused",
  (options) => expect(loggingOptions.safeParse(options).success).toBe(false),
);
