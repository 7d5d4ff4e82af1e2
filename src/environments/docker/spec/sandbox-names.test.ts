import { describe, expect, it } from "vitest";
import { containerName, parseReplacedTime, replacedName, sandboxKey, uniqueName } from "./sandbox-names.ts";

const ENGINE_NAME = /^[a-zA-Z0-9][a-zA-Z0-9_.-]{1,127}$/;

describe("names of sandboxes", () => {
  it.each(["default", "", "a:b/c", "👍", "..", "-x", "x".repeat(200), "tab\tnew\nline"])(
    "F18: %j becomes a name that engines and file systems accept",
    (task) => {
      const key = sandboxKey("id", task);
      expect(containerName(key)).toMatch(ENGINE_NAME);
      expect(key).toMatch(/^[A-Za-z0-9_.-]{5,60}$/);
    },
  );

  it("F11, F18: differ for each profile and for tasks with similar names", () => {
    const pairs = [
      ["p1", "a:b"],
      ["p1", "a/b"],
      ["p2", "a:b"],
      ["p1", `${"x".repeat(199)}1`],
      ["p1", `${"x".repeat(199)}2`],
      ["p1", "x".repeat(200)],
      ["p1", "x".repeat(201)],
      ["p1", "🦊"],
      ["p1", "🐺"],
      ["p1", "../../up"],
    ] as const;
    expect(new Set(pairs.map(([profile, task]) => sandboxKey(profile, task))).size).toBe(pairs.length);
    expect(sandboxKey("p1", "a:b")).toBe(sandboxKey("p1", "a:b"));
  });

  it("recognises a name that was moved aside, and parses its time", () => {
    const now = Date.UTC(2026, 4, 1, 12, 0, 7);
    expect(parseReplacedTime(replacedName("hermes-x", now))).toBe(now);
    expect(parseReplacedTime("hermes-x")).toBeUndefined();
    expect(parseReplacedTime(uniqueName("hermes-x"))).toBeUndefined();
  });
});
