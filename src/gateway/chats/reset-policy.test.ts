import { describe, expect, test } from "vitest";
import { sessionResetOptions } from "../options.ts";
import { whyReset } from "./reset-policy.ts";

const at = (text: string): number => new Date(text).getTime(); // local time

function why(
  rules: object,
  lastActive: string,
  now: string,
  more: { type?: "dm" | "group"; platform?: "none" | "idle" } = {},
) {
  const { type = "dm", platform = null } = more;
  const facts = { type, lastActiveAt: at(lastActive), now: at(now) };
  return whyReset(sessionResetOptions.parse(rules), { session_reset: platform }, facts);
}

describe("C9: the reset policy of sessions", () => {
  test("keeps every session by default", () => {
    expect(why({}, "2026-01-01T10:00", "2026-06-01T10:00")).toBeUndefined();
  });

  test("idle counts from the last activity", () => {
    const rules = { mode: "idle", idle_minutes: 60 };
    expect(why(rules, "2026-01-01T10:00", "2026-01-01T10:59")).toBeUndefined();
    expect(why(rules, "2026-01-01T10:00", "2026-01-01T11:00")).toBe("Nothing was written here for an hour");
  });

  test("daily mode starts a new session once its hour has passed, however recent the last message is", () => {
    const rules = { mode: "daily", at_hour: 4 };
    expect(why(rules, "2026-01-01T23:59", "2026-01-02T03:59")).toBeUndefined();
    expect(why(rules, "2026-01-02T03:59", "2026-01-02T04:00")).toBe("A new day has begun");
    expect(why(rules, "2026-01-02T04:00", "2026-01-02T23:00")).toBeUndefined();
  });

  test("both take whichever comes first", () => {
    const rules = { mode: "both", idle_minutes: 30, at_hour: 4 };
    expect(why(rules, "2026-01-01T10:00", "2026-01-01T10:31")).toBeDefined();
    expect(why(rules, "2026-01-02T03:50", "2026-01-02T04:10")).toBeDefined();
  });

  test("the setting of a platform overrides that of a kind of chat, which overrides the general one", () => {
    const rules = { mode: "idle", idle_minutes: 1, group: "none" };
    expect(why(rules, "2026-01-01T10:00", "2026-01-01T11:00")).toBeDefined();
    expect(why(rules, "2026-01-01T10:00", "2026-01-01T11:00", { type: "group" })).toBeUndefined();
    expect(
      why(rules, "2026-01-01T10:00", "2026-01-01T11:00", { type: "group", platform: "idle" }),
    ).toBeDefined();
    expect(why(rules, "2026-01-01T10:00", "2026-01-01T11:00", { platform: "none" })).toBeUndefined();
  });
});
