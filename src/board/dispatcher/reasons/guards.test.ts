import { describe, expect, it } from "vitest";
import type { EligibleTask } from "../transactions/list-eligible.ts";
import { guardOf } from "./guards.ts";

const NOW = 10_000_000;
const POLICY = { rateLimitCooldownMs: 300_000 };
const TASK: EligibleTask = {
  seq: 1,
  model_override: null,
  provider_override: null,
  workspace_kind: "scratch",
  workspace_path: null,
  branch_name: null,
  id: "t_1",
  assignee: "worker",
  priority: 0,
  not_before: null,
  ready_at: 0,
  run_id: 7,
  outcome: "crashed",
  ended_at: NOW - 1_000,
  metadata: null,
  lifted_at: null,
  lastNotices: null,
};

function reasonOf(
  changes: Partial<EligibleTask>,
  facts: { kind?: string; limited?: number; refused?: number; leaving?: number } = {},
) {
  const { kind, limited, refused, leaving } = facts;
  const eligible = {
    now: NOW,
    waitingForLeaving: new Map(leaving === undefined ? [] : [[TASK.id, leaving]]),
    failureKinds: new Map(kind === undefined ? [] : [[7, kind]]),
    limitedRoutes: new Map(limited === undefined ? [] : [["route", { at: limited, seq: 2 }]]),
    refusedRoutes: new Map(refused === undefined ? [] : [["route", { at: refused, seq: 2 }]]),
  };
  return guardOf({ ...TASK, ...changes }, eligible, POLICY, "route")?.reason;
}

describe("guardOf", () => {
  const pullRequest = { metadata: JSON.stringify({ pull_request: "https://example.com/pull/1" }) };

  it("B6.37: returns the first applicable guard of the table", () => {
    const all = { ...pullRequest, not_before: NOW + 1 };
    const facts = { kind: "auth", limited: NOW - 1 };
    const outcome = "infra_killed" as const;
    expect(reasonOf({ ...all, outcome }, { ...facts, leaving: NOW + 1 })).toBe("worker_leaving");
    expect(reasonOf({ ...all, outcome }, facts)).toBe("infrastructure_cooldown");
    expect(reasonOf(all, facts)).toBe("rate_limit_cooldown");
    expect(reasonOf(all, { kind: "quota" })).toBe("blocker_auth");
    expect(reasonOf(all, { refused: NOW - 1 })).toBe("blocker_auth");
    expect(reasonOf({ ...all, outcome: "completed" })).toBe("backoff");
    expect(reasonOf({ ...pullRequest, outcome: "completed" })).toBe("recent_success");
    expect(reasonOf({ ...pullRequest, outcome: "review_requested" })).toBe("active_pr");
    expect(reasonOf({})).toBeUndefined();
  });

  it("ignores events from before an operator lifted the guards, but not a worker that may be alive", () => {
    const lifted = { lifted_at: NOW };
    expect(reasonOf({ ...lifted, outcome: "completed" })).toBeUndefined();
    expect(reasonOf(lifted, { kind: "auth", limited: NOW - 1, refused: NOW - 1 })).toBeUndefined();
    expect(reasonOf(lifted, { leaving: NOW + 1 })).toBe("worker_leaving");
  });
});
