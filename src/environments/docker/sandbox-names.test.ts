import { describe, expect, it } from "vitest";
import { asideName, asideSince, containerName, sandboxKey, uniqueName } from "./sandbox-names.ts";

const ENGINE_NAME = /^[a-zA-Z0-9][a-zA-Z0-9_.-]{1,127}$/;

describe("names of sandboxes", () => {
  it.each(["default", "", "a:b/c", "👍", "..", "-x", "x".repeat(200), "tab\tnew\nline"])(
    "F18: %j becomes a name that engines and file systems take",
    (task) => {
      const key = sandboxKey("id", task);
      expect(containerName(key)).toMatch(ENGINE_NAME);
      expect(key).toMatch(/^[A-Za-z0-9_.-]{5,60}$/);
    },
  );

  it("F11, F18: differ for every profile and for tasks that only look alike", () => {
    const pairs = [
      ["p1", "a:b"],
      ["p1", "a/b"],
      ["p2", "a:b"],
      ["p1", `${"x".repeat(199)}1`],
      ["p1", `${"x".repeat(199)}2`],
    ] as const;
    expect(new Set(pairs.map(([profile, task]) => sandboxKey(profile, task))).size).toBe(pairs.length);
    expect(sandboxKey("p1", "a:b")).toBe(sandboxKey("p1", "a:b"));
  });

  it("knows a name that was moved aside, and since when", () => {
    const now = Date.UTC(2026, 4, 1, 12, 0, 7);
    expect(asideSince(asideName("hermes-x", now))).toBe(now);
    expect(asideSince("hermes-x")).toBeUndefined();
    expect(asideSince(uniqueName("hermes-x"))).toBeUndefined();
  });
});
