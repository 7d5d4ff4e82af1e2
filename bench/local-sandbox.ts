import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Environment } from "../src/environments/environment.ts";
import { openLocalEnvironment } from "../src/environments/local/local-environment.ts";
import { terminalOptions } from "../src/environments/options.ts";
import { neverAborted } from "../src/lib/time/never-aborted.ts";
import { type Bench, type Measurement, medians, milliseconds } from "./bench.ts";

const ROUNDS = 300;
const STARTS = 15;
const BUDGET = { max: 1.3 };

/** What the local sandbox adds to a step. The first command is part of the warm-up, and is measured on its own. */
export const localSandboxBench: Bench = {
  name: "local-sandbox",
  async run() {
    const folder = await mkdtemp(join(tmpdir(), "hermes-bench-"));
    const cwd = join(folder, "project");
    await mkdir(cwd);
    await writeFile(join(cwd, "file"), "text\n");
    const open = (local_sandbox: "off" | "workspace"): Promise<Environment> =>
      openLocalEnvironment({
        options: terminalOptions.parse({ local_sandbox, shell_init_files: ["/dev/null"] }),
        variables: process.env,
        profileHome: join(folder, "home"),
        cwd,
      });
    try {
      await using sandboxed = await open("workspace");
      await using plain = await open("off");
      const measure = async (name: string, command: string): Promise<Measurement> => {
        const found = await medians(ROUNDS, stepIn(sandboxed, command), stepIn(plain, command));
        return row(name, found, BUDGET);
      };
      const first = async (mode: "off" | "workspace"): Promise<void> => {
        const environment = await open(mode);
        await stepIn(environment, "true")();
        await environment[Symbol.asyncDispose]();
      };
      const starts = await medians(
        STARTS,
        () => first("workspace"),
        () => first("off"),
      );
      return [
        await measure("builtin in the local sandbox ÷ without", "echo hi"),
        await measure("program in the local sandbox ÷ without", "cat file"),
        row("open, first command, close ÷ without", starts, { max: 6 }),
      ];
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  },
};

function row(
  name: string,
  { ours, peer }: { readonly ours: number; readonly peer: number },
  budget: Measurement["budget"],
): Measurement {
  return { name, ours: milliseconds(ours), peer: milliseconds(peer), ratio: ours / peer, budget };
}

/** Fails unless the command succeeds. */
function stepIn(environment: Environment, command: string): () => Promise<void> {
  const session = environment.openSession();
  return async () => {
    const request = { command, session, timeoutMs: 30_000, onOutput: () => undefined };
    const { exitCode } = await environment.run(request, neverAborted);
    if (exitCode !== 0) throw new Error(`${command} ended with ${exitCode}`);
  };
}
