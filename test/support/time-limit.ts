import { beforeEach } from "vitest";

declare module "vitest" {
  interface TaskMeta {
    /** It was not run because the time for the run was used up; scripts/test.ts names it at the end. */
    isOutOfTime?: boolean;
  }
}

const until = Number(process.env["HERMES_TEST_UNTIL"] ?? Number.POSITIVE_INFINITY) * 1_000;

// Runs before each test file. A test that has begun is not cut short.
beforeEach(({ skip, task }) => {
  if (Date.now() < until) return;
  task.meta.isOutOfTime = true;
  skip("the time for the run is used up");
});
