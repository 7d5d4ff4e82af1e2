import { defineConfig } from "vitest/config";
import { BaseSequencer, type TestSpecification } from "vitest/node";

/** End-to-end tests first: they wait more than they work, and the longest of them would else be waited for at the end. */
class EndToEndFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const isEndToEnd = ({ moduleId }: TestSpecification) => moduleId.includes("/test/e2e/");
    const sorted = await super.sort(files);
    return [...sorted.filter(isEndToEnd), ...sorted.filter((file) => !isEndToEnd(file))];
  }
}

export default defineConfig({
  oxc: { target: "node20" },
  test: {
    include: ["src/**/*.test.ts", "test/**/*.test.ts", "scripts/**/*.test.ts"],
    setupFiles: ["test/support/time-limit.ts"],
    testTimeout: 600_000, // ends what hangs; a busy machine is no failure
    hookTimeout: 600_000,
    expect: { poll: { timeout: 150_000 } },
    maxWorkers: 3, // most tests wait for processes, so two cores can take more than one file each
    sequence: { sequencer: EndToEndFirst },
  },
});
