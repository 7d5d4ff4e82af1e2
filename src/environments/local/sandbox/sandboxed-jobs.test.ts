import { mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll } from "vitest";
import { describeWith } from "../../../../test/support/services.ts";
import { jobsContract } from "../../jobs/jobs.contract.ts";

const folder = realpathSync(mkdtempSync(join(tmpdir(), "hermes-sandboxed-jobs-")));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describeWith("bubblewrap", "jobs in the local sandbox", () => {
  jobsContract({
    name: "sandboxed",
    shell: "bash",
    target: async () => ({ kind: "local", folder, sandbox: "workspace" }),
  });
});
