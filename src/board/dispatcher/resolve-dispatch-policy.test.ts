import { describe, expect, it } from "vitest";
import { kanbanOptions } from "../options.ts";
import { profileCap, resolveDispatchPolicy } from "./resolve-dispatch-policy.ts";

const GIB = 1_024 ** 3;
const LINUX = { platform: "linux", totalMemoryBytes: 64 * GIB };

describe("resolveDispatchPolicy", () => {
  it("takes the defaults of the settings, and has nothing to warn of", () => {
    expect(resolveDispatchPolicy(kanbanOptions.parse({}), LINUX)).toEqual({
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
      warnings: [],
    });
    expect(resolveDispatchPolicy({}, LINUX)).toEqual(resolveDispatchPolicy(kanbanOptions.parse({}), LINUX));
  });

  it.each([
    [0.5, 2],
    [1.6, 3],
    [16, 8],
  ])("runs on %s GiB of memory at most %s tasks", (gib, cap) => {
    const host = { platform: "linux", totalMemoryBytes: gib * GIB };
    expect(resolveDispatchPolicy({}, host).maxInProgress).toBe(cap);
    expect(resolveDispatchPolicy({}, { ...host, platform: "darwin" }).maxInProgress).toBeUndefined();
  });

  it.each([0, -1, "abc", 1.5, Number.NaN])("takes a cap of %s as unset, and warns", (value) => {
    const policy = resolveDispatchPolicy({ max_spawn: value, max_in_progress: value }, LINUX);
    expect([policy.maxSpawn, policy.maxInProgress]).toEqual([undefined, 8]);
    expect(policy.warnings).toHaveLength(2);
  });

  it.each([0, -1, "abc", null, []])("has no cap per profile for %s", (value) => {
    const policy = resolveDispatchPolicy({ max_in_progress_per_profile: value }, LINUX);
    expect(profileCap(policy, "alpha")).toBe(Number.POSITIVE_INFINITY);
  });

  it("reads a cap per profile as a number for all or as a map, whose names are normalised", () => {
    expect(profileCap(resolveDispatchPolicy({ max_in_progress_per_profile: 2 }, LINUX), "any")).toBe(2);
    const map = resolveDispatchPolicy({ max_in_progress_per_profile: { " Alpha": 1, beta: 0 } }, LINUX);
    expect(profileCap(map, "alpha")).toBe(1);
    expect(profileCap(map, "beta")).toBe(Number.POSITIVE_INFINITY);
  });

  it("takes an interval that is none as a minute, and none below a second", () => {
    const interval = (value: unknown) =>
      resolveDispatchPolicy({ dispatch_interval_seconds: value }, LINUX).intervalMs;
    expect([interval("x"), interval(-5), interval(0), interval(0.2), interval(5)]).toEqual([
      60_000, 60_000, 60_000, 1_000, 5_000,
    ]);
  });

  it("takes a failure limit below one as two", () => {
    expect(resolveDispatchPolicy({ failure_limit: 0 }, LINUX).failureLimit).toBe(2);
    expect(resolveDispatchPolicy({ failure_limit: 1 }, LINUX).failureLimit).toBe(1);
  });

  it("claims for nobody when the list of profiles is empty or cannot be read", () => {
    const profiles = (value: unknown) => resolveDispatchPolicy({ dispatch_profiles: value }, LINUX).profiles;
    expect([profiles(undefined), profiles(null), profiles([]), profiles("alpha"), profiles([" A "])]).toEqual(
      [undefined, undefined, [], [], ["a"]],
    );
  });
});
