import { writeSync } from "node:fs";
import { openDockerEnvironment } from "../../src/environments/docker/docker-environment.ts";
import { createEngine } from "../../src/environments/docker/engine/engine.ts";
import { createSandboxSpec } from "../../src/environments/docker/spec/sandbox-spec.ts";
import { neverAborted } from "../../src/lib/time/never-aborted.ts";
import { testHost, testOptions } from "./docker.ts";

export interface HoldInput {
  readonly binary: string;
  readonly dockerHost: string;
  readonly profileId: string;
  readonly folder: string;
  readonly image: string;
  readonly commands: readonly string[];
}

/** Roles of a process that keeps a sandbox open in tests; started by `startChild`. */
const ROLES = {
  /** Runs the commands one after the other in one session and reports their output as it arrives. */
  async hold({ binary, dockerHost, profileId, folder, image, commands }: HoldInput) {
    const host = testHost(folder);
    const identity = { profile: "tester", profileId, task: "default" };
    const { spec } = await createSandboxSpec(testOptions(image), identity, host);
    await using environment = openDockerEnvironment({
      engine: createEngine(binary, { ...process.env, DOCKER_HOST: dockerHost }),
      spec,
      reporter: { onNotice: () => undefined, onProgress: () => undefined },
    });
    const session = environment.openSession();
    for (const command of commands) {
      const onOutput = (_: unknown, bytes: Uint8Array) => print(Buffer.from(bytes).toString("utf8"));
      await environment.run({ command, session, timeoutMs: 60_000, onOutput }, neverAborted);
    }
  },
};

function print(report: unknown): void {
  writeSync(1, `${JSON.stringify(report)}\n`);
}

const [role = "", input = "{}"] = process.argv.slice(2);
await (ROLES as Record<string, (input: unknown) => Promise<void>>)[role]?.(JSON.parse(input));
process.exit();
