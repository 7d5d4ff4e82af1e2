import { describe, expect, it } from "vitest";
import { type DispatchSettings, dispatchPolicy } from "../../../../test/support/dispatch-policy.ts";
import { profileCap } from "./resolve-dispatch-policy.ts";

const GIB = 1_024 ** 3;

describe("resolveDispatchPolicy", () => {
  it("uses the defaults of the settings", () => {
    expect(dispatchPolicy({})).toEqual({
      intervalMs: 60_000,
      maxSpawn: undefined,
      maxInProgress: 8,
      perProfile: undefined,
      failureLimit: 2,
      failureRetryMs: 86_400_000,
      defaultAssignee: undefined,
      profiles: undefined,
      staleMs: 14_400_000,
      reconcileOrphans: true,
      crashGraceMs: 30_000,
      rateLimitCooldownMs: 300_000,
      childLimits: { maxChildren: 50, maxDepth: 5 },
    });
  });

  it.each([
    [0.5, 2],
    [1.6, 3],
    [16, 8],
  ])("with %s GiB of memory, allows at most %s tasks", (gib, cap) => {
    const host = { platform: "linux", totalMemoryBytes: gib * GIB };
    expect(dispatchPolicy({}, host).maxInProgress).toBe(cap);
    expect(dispatchPolicy({}, { ...host, platform: "darwin" }).maxInProgress).toBeUndefined();
  });

  it.each([0, -1, "abc", 1.5, Number.NaN])(
    "never gets a cap of %s, because the settings refuse it",
    (value) => {
      for (const key of ["max_spawn", "max_in_progress"] as const)
        expect(() => dispatchPolicy({ [key]: value } as DispatchSettings)).toThrow(key);
    },
  );

  it.each([0, null])("sets no cap per profile for %s", (value) => {
    const policy = dispatchPolicy({ max_in_progress_per_profile: value });
    expect(profileCap(policy, "alpha")).toBe(Number.POSITIVE_INFINITY);
  });

  it("reads a cap per profile as one number for all or as a map with normalised names", () => {
    expect(profileCap(dispatchPolicy({ max_in_progress_per_profile: 2 }), "any")).toBe(2);
    const map = dispatchPolicy({ max_in_progress_per_profile: { " Alpha": 1, beta: 0 } });
    expect(profileCap(map, "alpha")).toBe(1);
    expect(profileCap(map, "beta")).toBe(Number.POSITIVE_INFINITY);
  });

  it.each([
    ["dispatch_interval_seconds", ["x", -5, 0, 0.2]],
    ["failure_limit", [0]],
    ["dispatch_profiles", ["alpha"]],
  ] as const)("never gets an invalid %s, because the settings refuse it", (key, values) => {
    for (const value of values)
      expect(() => dispatchPolicy({ [key]: value } as DispatchSettings)).toThrow(key);
  });

  it("allows no profile when the list of profiles is empty", () => {
    const profiles = (value: string[] | null | undefined) =>
      dispatchPolicy({ dispatch_profiles: value }).profiles;
    expect([profiles(undefined), profiles(null), profiles([]), profiles([" A "])]).toEqual([
      undefined,
      undefined,
      [],
      ["a"],
    ]);
  });
});
