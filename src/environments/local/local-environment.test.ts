import { mkdtempSync, realpathSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { environmentContract } from "../environment.contract.ts";
import { terminalOptions } from "../options.ts";
import { openLocalEnvironment } from "./local-environment.ts";

const folder = realpathSync(mkdtempSync(join(tmpdir(), "hermes-local-")));

environmentContract({
  name: "local",
  shell: "bash",
  folder,
  open: () =>
    openLocalEnvironment({
      options: terminalOptions.parse({ auto_source_bashrc: false, shell_init_files: ["/dev/null"] }),
      variables: { PATH: process.env["PATH"], HOME: folder },
      profileHome: folder,
      cwd: folder,
    }),
});
