import { mkdirSync, mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll } from "vitest";
import { describeWith } from "../../../../test/support/services.ts";
import { environmentContract } from "../../environment.contract.ts";
import { terminalOptions } from "../../options.ts";
import { openLocalEnvironment } from "../local-environment.ts";

const folder = realpathSync(mkdtempSync(join(tmpdir(), "hermes-sandboxed-")));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const project = join(folder, "project");
mkdirSync(project);
mkdirSync(join(folder, "user"));

describeWith("bubblewrap", "commands in the local sandbox", () => {
  environmentContract({
    name: "sandboxed",
    shell: "bash",
    folder: project,
    open: () =>
      openLocalEnvironment({
        options: terminalOptions.parse({ shell_init_files: ["/dev/null"], local_sandbox: "workspace" }),
        variables: { PATH: process.env["PATH"], HOME: join(folder, "user") },
        profileHome: join(folder, "hermes"),
        cwd: project,
      }),
  });
});
