import { beforeEach } from "vitest";

declare module "vitest" {
  interface TaskMeta {
    /** True if the test was not run because the run reached its time limit; scripts/test.ts lists it at the end. */
    isOutOfTime?: boolean;
  }
}

const until = Number(process.env["HERMES_TEST_UNTIL"] ?? Number.POSITIVE_INFINITY) * 1_000;

// Runs before each test file. A test that has started is not interrupted.
beforeEach(({ skip, task }) => {
  if (Date.now() < until) return;
  task.meta.isOutOfTime = true;
  skip("the run has reached its time limit");
});
