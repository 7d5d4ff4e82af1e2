import { writeSync } from "node:fs";
import { createInterface } from "node:readline";
import { createEngine } from "../../src/environments/docker/engine/engine.ts";
import { ensureSandbox } from "../../src/environments/docker/lifecycle/ensure-sandbox.ts";
import { createSandboxSpec } from "../../src/environments/docker/spec/sandbox-spec.ts";
import { neverAborted } from "../../src/lib/time/never-aborted.ts";
import { testHost, testOptions } from "./docker.ts";

export interface EnsureInput {
  readonly binary: string;
  readonly dockerHost: string;
  readonly profileId: string;
  readonly folder: string;
  readonly image: string;
}

/** Roles of other processes that use sandboxes in tests; started by `startChild`. */
const ROLES = {
  /** Waits for a line on stdin, requests the sandbox, and reports which one it got. */
  async ensure({ binary, dockerHost, profileId, folder, image }: EnsureInput) {
    const engine = createEngine(binary, { ...process.env, DOCKER_HOST: dockerHost });
    const identity = { profile: "tester", profileId, task: "default" };
    const { spec } = await createSandboxSpec(testOptions(image), identity, testHost(folder));
    await waitForLine("ready");
    const { id, how } = await ensureSandbox(
      engine,
      spec,
      { onNotice: () => undefined, onProgress: () => undefined },
      neverAborted,
    );
    print({ id, how });
  },
};

function print(report: unknown): void {
  writeSync(1, `${JSON.stringify(report)}\n`);
}

async function waitForLine(report: unknown): Promise<void> {
  const lines = createInterface({ input: process.stdin });
  const line = new Promise((resolve) => lines.once("line", resolve));
  print(report);
  await line;
  lines.close();
}

const [role = "", input = "{}"] = process.argv.slice(2);
await (ROLES as Record<string, (input: unknown) => Promise<void>>)[role]?.(JSON.parse(input));
process.exit();
