import { writeSync } from "node:fs";
import { openDockerEnvironment } from "../../src/environments/docker/docker-environment.ts";
import { createEngine } from "../../src/environments/docker/engine/engine.ts";
import { createSandboxSpec } from "../../src/environments/docker/spec/sandbox-spec.ts";
import type { Environment } from "../../src/environments/environment.ts";
import { createEnvironmentFiles } from "../../src/environments/files/environment-files.ts";
import { openLocalEnvironment } from "../../src/environments/local/local-environment.ts";
import { terminalOptions } from "../../src/environments/options.ts";
import { neverAborted } from "../../src/lib/time/never-aborted.ts";
import { testHost, testOptions } from "./docker.ts";
import type { EnsureInput } from "./docker-child.ts";

export interface LoopInput {
  /** Undefined for the local environment. */
  readonly docker: EnsureInput | undefined;
  readonly home: string;
  readonly path: string;
  readonly bytes: number;
}

async function open({ docker, home }: LoopInput): Promise<Environment> {
  if (docker === undefined) {
    return openLocalEnvironment({
      options: terminalOptions.parse({ shell_init_files: ["/dev/null"] }),
      variables: { PATH: process.env["PATH"], HOME: home },
      profileHome: home,
      cwd: home,
    });
  }
  const { binary, dockerHost, profileId, folder, image } = docker;
  const engine = createEngine(binary, { ...process.env, DOCKER_HOST: dockerHost });
  const identity = { profile: "tester", profileId, task: "default" };
  const { spec } = await createSandboxSpec(testOptions(image), identity, testHost(folder));
  const reporter = { onNotice: () => undefined, onProgress: () => undefined };
  return openDockerEnvironment({ engine, spec, reporter });
}

/** Writes one version after another until it is killed, and reports its start. */
const ROLES = {
  async loop(input: LoopInput) {
    const environment = await open(input);
    const files = createEnvironmentFiles(environment, environment.openSession());
    for (let version = 0; ; version++) {
      const letter = String.fromCharCode(0x61 + (version % 26));
      const content = Buffer.alloc(input.bytes, letter);
      const written = await files.write(input.path, content, {}, neverAborted);
      if (written.kind !== "written") throw new Error(written.message);
      writeSync(1, `${JSON.stringify(letter)}\n`);
    }
  },
};

const [role = "", input = "{}"] = process.argv.slice(2);
await (ROLES as Record<string, (input: LoopInput) => Promise<void>>)[role]?.(JSON.parse(input));
