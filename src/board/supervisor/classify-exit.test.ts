import { describe, expect, it } from "vitest";
import { classifyExit } from "./classify-exit.ts";
import type { ProcessExit } from "./start-worker.ts";

const exited = (exit: ProcessExit, output = "") => classifyExit({ kind: "exited", exit }, exit, output);
const withCode = (code: number) => exited({ code, signal: null });
const withSignal = (signal: NodeJS.Signals) => exited({ code: null, signal });

describe("classifyExit", () => {
  it("B6.25: an ordinary failure keeps exit code or signal and the last 400 characters of output", () => {
    const crashed = exited({ code: 9, signal: null }, `${"x".repeat(1_000)}\nthe last line\nthe end`);
    expect(crashed).toMatchObject({ outcome: "crashed", failureKind: "task", detail: { exit_code: 9 } });
    expect(crashed?.detail?.["worker_output"]).toHaveLength(400);
    expect(crashed?.error).toMatch(/^the worker ended with code 9\n…x+\nthe last line\nthe end$/);
    const chatty = exited({ code: 9, signal: null }, `${"some words ".repeat(100)}\nthe end`);
    expect(chatty?.error).toMatch(/^the worker ended with code 9\n…(some|words) [somewrd ]+\nthe end$/);
    expect(withSignal("SIGSEGV")).toMatchObject({
      outcome: "crashed",
      error: expect.stringContaining("killed by SIGSEGV"),
      detail: { exit_code: null, signal: "SIGSEGV" },
    });
    expect(crashed).not.toHaveProperty("terminal");
  });

  it("B6.27: exit 75 is a rate limit", () => {
    expect(withCode(75)).toMatchObject({ outcome: "rate_limited", failureKind: "quota" });
  });

  it("B6.28: exit 78 is a permanent failure", () => {
    expect(withCode(78)).toMatchObject({ outcome: "crashed", failureKind: "auth", terminal: true });
  });

  it("B6.29: exit 0 while the run is open is a protocol violation", () => {
    expect(withCode(0)).toMatchObject({ outcome: "protocol_violation", failureKind: "protocol" });
  });

  it("board C7: a termination from outside does not count against the task, an exhausted budget does", () => {
    for (const end of [
      withCode(143),
      withCode(74),
      withSignal("SIGTERM"),
      withSignal("SIGHUP"),
      withSignal("SIGINT"),
    ])
      expect(end).toMatchObject({ outcome: "infra_killed", failureKind: "infra" });
    expect(withCode(3)).toMatchObject({ outcome: "budget_exhausted", failureKind: "budget" });
  });

  it("a failure contains the error that the program printed, not only its exit code", () => {
    const output =
      "hello\nhermes: note: a note\nhermes: mine did not accept the key (401)\n  Check the key.\n";
    const ended = (code: number) =>
      classifyExit({ kind: "exited", exit: { code, signal: null } }, { code, signal: null }, output);
    expect(ended(78)?.error).toMatch(/^mine did not accept the key \(401\)\n/);
    expect(ended(78)?.error?.match(/mine did not accept/g)).toHaveLength(1);
    expect(ended(1)?.error).toMatch(/^the worker ended with code 1: mine did not accept the key \(401\)\n/);
  });

  it("a full disk is reported first, with its folder", () => {
    const exit = { code: 9, signal: null };
    const end = classifyExit({ kind: "exited", exit }, exit, "no room", "/srv/boards");
    expect(end?.error).toBe("the disk with /srv/boards is full, and the worker ended with code 9\nno room");
  });

  it("the supervisor's reason takes precedence over the exit code; an end of a lost or closed run is not reported", () => {
    const exit = { code: 0, signal: null };
    expect(classifyExit({ kind: "timed-out", seconds: 7 }, exit, "")).toMatchObject({ outcome: "timed_out" });
    expect(classifyExit({ kind: "stopped" }, exit, "")).toMatchObject({ outcome: "infra_killed" });
    expect(classifyExit({ kind: "unsure" }, exit, "")).toMatchObject({ outcome: "infra_killed" });
    expect(classifyExit({ kind: "lost" }, exit, "")).toBeUndefined();
    expect(classifyExit({ kind: "closed" }, exit, "")).toBeUndefined();
  });
});
