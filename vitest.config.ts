import { defineConfig } from "vitest/config";
import { BaseSequencer, type TestSpecification } from "vitest/node";

/** Ends what hangs; a busy machine is no failure, and neither are the hundred rounds of the deep lane. */
const LIMIT_MS = process.env["HERMES_TEST_LANE"] === "deep" ? 3_600_000 : 600_000;
const FIRST = ["/test/", "/src/environments/"];

/** What runs real programs and engines comes first: it is long, and waits more than it works. */
class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ moduleId }: TestSpecification) => FIRST.findIndex((folder) => moduleId.includes(folder));
    const sorted = await super.sort(files);
    return sorted.toSorted((one, other) => (rank(one) >>> 0) - (rank(other) >>> 0)); // -1, none of them, is last
  }
}

export default defineConfig({
  oxc: { target: "node20" },
  test: {
    include: ["src/**/*.test.ts", "dashboard/src/**/*.test.ts", "test/**/*.test.ts", "scripts/**/*.test.ts"],
    globalSetup: ["test/support/bundle-children.ts"],
    setupFiles: ["test/support/fail-on-warning.ts", "test/support/time-limit.ts"],
    testTimeout: LIMIT_MS,
    hookTimeout: LIMIT_MS,
    expect: { poll: { timeout: 150_000 } },
    isolate: false, // nothing here keeps state in modules, and to load them again for each file takes a minute in all
    maxWorkers: 6, // most tests wait for processes and leases, so two cores can take more than one file each
    sequence: { sequencer: LongestFirst },
  },
});
