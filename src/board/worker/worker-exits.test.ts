import { expect, test } from "vitest";
import { AppError } from "../../lib/errors.ts";
import { classifyExit } from "../supervisor/classify-exit.ts";
import { RUN_OUTCOMES } from "../task.ts";
import { isInfrastructureFailure, WORKER_EXIT_CODES } from "./worker-exits.ts";

test("a session in use ends the run without a failure, because the task did not cause it and the session becomes free", () => {
  const error = new AppError("session-busy", "Session s is in use by process 7.");
  expect(isInfrastructureFailure(error)).toBe(true);
  const exit = { code: WORKER_EXIT_CODES.infrastructure, signal: null };
  const ending = classifyExit({ kind: "exited", exit }, exit, `hermes: ${error.message}`);
  expect(ending).toMatchObject({ outcome: "infra_killed", error: expect.stringContaining(error.message) });
  expect(RUN_OUTCOMES.infra_killed.failure).toBe(false);
});

test("an error that the next attempt meets again is a failure", () => {
  expect(isInfrastructureFailure(new AppError("task-input-invalid", "The title is empty."))).toBe(false);
  expect(isInfrastructureFailure(new Error("a bug"))).toBe(false);
});
