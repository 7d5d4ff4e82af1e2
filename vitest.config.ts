import { defineConfig } from "vitest/config";

export default defineConfig({
  oxc: { target: "node20" },
  test: {
    include: ["src/**/*.test.ts", "test/**/*.test.ts", "scripts/**/*.test.ts"],
    testTimeout: 180_000, // ends what hangs; a busy machine is no failure
    hookTimeout: 180_000,
    expect: { poll: { timeout: 60_000 } },
    maxWorkers: 3, // most tests wait for processes, so two cores can take more than one file each
  },
});
