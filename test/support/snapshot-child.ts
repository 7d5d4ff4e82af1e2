import { createEngine, type Engine } from "../../src/environments/docker/engine/engine.ts";
import { forkSandbox } from "../../src/environments/docker/restore/fork-sandbox.ts";
import { restoreSandbox } from "../../src/environments/docker/restore/restore-sandbox.ts";
import { snapshotSandbox } from "../../src/environments/docker/snapshots/snapshot-sandbox.ts";
import { requireSnapshot } from "../../src/environments/docker/snapshots/snapshot-store.ts";
import { createSandboxSpec } from "../../src/environments/docker/spec/sandbox-spec.ts";
import { neverAborted } from "../../src/lib/time/never-aborted.ts";
import { testHost, testOptions } from "./docker.ts";

export interface DyingInput {
  readonly binary: string;
  readonly dockerHost: string;
  readonly profileId: string;
  readonly folder: string;
  readonly image: string;
  /** The verb of the engine call before or after which the process is killed. */
  readonly at: string;
  readonly when: "before" | "after";
}

/** An engine that kills this process at the named call. */
function dyingEngine({ binary, dockerHost, at, when }: DyingInput): Engine {
  const engine = createEngine(binary, { ...process.env, DOCKER_HOST: dockerHost });
  const die = () => process.kill(process.pid, "SIGKILL");
  return {
    ...engine,
    async run(args, call, signal) {
      const isTarget = args[0] === at;
      if (isTarget && when === "before") die();
      const result = await engine.run(args, call, signal);
      if (isTarget) die();
      return result;
    },
  };
}

async function specOf({ profileId, folder, image }: DyingInput, task: string) {
  const identity = { profile: "tester", profileId, task };
  return (await createSandboxSpec(testOptions(image), identity, testHost(folder))).spec;
}

const optionsOf = ({ folder }: DyingInput) => ({
  sandboxesFolder: testHost(folder).sandboxesFolder,
  now: Date.now(),
  reporter: { onNotice: () => undefined, onProgress: () => undefined },
});

/** Roles of processes that are killed in tests; started by `startChild`. */
const ROLES = {
  async snapshot(input: DyingInput) {
    await snapshotSandbox(dyingEngine(input), await specOf(input, "default"), optionsOf(input), neverAborted);
  },
  async fork(input: DyingInput) {
    const source = { sandbox: await specOf(input, "default") };
    await forkSandbox(
      dyingEngine(input),
      source,
      await specOf(input, "copy"),
      optionsOf(input),
      neverAborted,
    );
  },
  async restore(input: DyingInput) {
    const store = { sandboxesFolder: optionsOf(input).sandboxesFolder, profileId: input.profileId };
    const snapshot = await requireSnapshot(store, "kept");
    const options = { ...optionsOf(input), force: false };
    await restoreSandbox(dyingEngine(input), snapshot, await specOf(input, "default"), options, neverAborted);
  },
};

const [role = "", input = "{}"] = process.argv.slice(2);
await (ROLES as Record<string, (input: unknown) => Promise<void>>)[role]?.(JSON.parse(input));
process.exit();
