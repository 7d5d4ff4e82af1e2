import { execFileSync, spawnSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openDockerEnvironment } from "../src/environments/docker/docker-environment.ts";
import { createEngine, type Engine } from "../src/environments/docker/engine/engine.ts";
import { createSandboxSpec, type SandboxSpec } from "../src/environments/docker/spec/sandbox-spec.ts";
import type { Environment } from "../src/environments/environment.ts";
import { terminalOptions } from "../src/environments/options.ts";
import { loadPart, type RunningPart } from "../test/support/services.ts";

const SERVICES = "scripts/test-services";

/** The sandbox of a benchmark, and its engine. */
export interface BenchSandbox {
  readonly engine: Engine;
  readonly spec: SandboxSpec;
  readonly folder: string;
  /** The same sandbox for another task; the caller that creates it removes it. */
  specFor(task: string): Promise<SandboxSpec>;
  open(): Environment;
  /** Calls the engine's own command. */
  docker(...args: string[]): void;
}

/** Measures in a new sandbox, which is removed afterwards. */
export async function withSandbox<Result>(
  measure: (sandbox: BenchSandbox) => Promise<Result>,
): Promise<Result> {
  const service = runningEngine();
  const folder = await mkdtemp(join(tmpdir(), "hermes-bench-"));
  const engine = createEngine(service.client, { ...process.env, DOCKER_HOST: service.host });
  const profileId = randomBytes(8).toString("hex");
  const specFor = (task: string): Promise<SandboxSpec> =>
    createSpec(service.images.bash, { profile: "bench", profileId, task }, folder);
  const spec = await specFor("bench");
  const open = (): Environment => openDockerEnvironment({ engine, spec, reporter: silent });
  const docker = (...args: string[]): void =>
    void execFileSync(engine.binary, args, { env: engine.env as NodeJS.ProcessEnv });
  try {
    return await measure({ engine, spec, specFor, folder, open, docker });
  } finally {
    docker("rm", "-f", spec.name);
    await rm(folder, { recursive: true, force: true });
  }
}

/** The engine of the test services, started if necessary; it keeps running for the next benchmark. */
export function runningEngine(): RunningPart<"docker"> {
  const found = loadPart("docker");
  if (found.state === "running") return found;
  spawnSync(SERVICES, ["start", "docker"], { stdio: ["ignore", 2, 2] });
  const started = loadPart("docker");
  if (started.state !== "running") throw new Error("no Docker engine could be started, for the reason above");
  return started;
}

const silent = { onNotice: () => undefined, onProgress: () => undefined };

async function createSpec(
  image: string,
  owner: { readonly profile: string; readonly profileId: string; readonly task: string },
  folder: string,
): Promise<SandboxSpec> {
  const options = terminalOptions.parse({
    backend: "docker",
    docker_image: image,
    docker_network: false,
    container_disk: 0,
  });
  const { spec } = await createSandboxSpec(options, owner, {
    sandboxesFolder: folder,
    stateFolders: [],
    userHome: "/nonexistent",
    cwd: folder,
    engineSockets: [],
    remoteEngine: false,
    ownMounts: undefined,
    user: undefined,
    findValue: () => undefined,
  });
  return spec;
}
