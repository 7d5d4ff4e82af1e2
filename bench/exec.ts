import { execFileSync, spawn, spawnSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openDockerEnvironment } from "../src/environments/docker/docker-environment.ts";
import { createEngine } from "../src/environments/docker/engine.ts";
import { createSandboxSpec, type SandboxSpec } from "../src/environments/docker/sandbox-spec.ts";
import type { Environment } from "../src/environments/environment.ts";
import { openLocalEnvironment } from "../src/environments/local/local-environment.ts";
import { terminalOptions } from "../src/environments/options.ts";
import { loadPart, type RunningPart } from "../test/support/services.ts";
import { type Bench, type Measurement, medians, milliseconds } from "./bench.ts";

const SERVICES = "scripts/test-services";
const ROUNDS = 100;
const SLOW_ROUNDS = 15;
const OUTPUT_BYTES = 100_000_000;
const never = new AbortController().signal;

/** What a sandboxed command costs, beside the engine's own exec and beside a local one. */
export const execBench: Bench = {
  name: "exec",
  async run() {
    const service = runningEngine();
    const folder = await mkdtemp(join(tmpdir(), "hermes-bench-"));
    const engine = createEngine(service.client, { ...process.env, DOCKER_HOST: service.host });
    const spec = await specFor(service.images.bash, folder);
    const open = (): Environment =>
      openDockerEnvironment({ engine, spec, sandboxesFolder: folder, reporter: silent });
    const docker = (...args: string[]): void =>
      void execFileSync(engine.binary, args, { env: engine.env as NodeJS.ProcessEnv });
    try {
      await using sandbox = open();
      await using local = await openLocalEnvironment({
        options: terminalOptions.parse({}),
        variables: process.env,
        profileHome: folder,
        cwd: folder,
      });
      const inSandbox = echoIn(sandbox);
      const onHost = echoIn(local);
      await inSandbox();
      return [
        ...(await roundTrips(inSandbox, onHost, () => docker("exec", spec.name, "bash", "-c", "echo hi"))),
        await attachment(open, () => docker("exec", spec.name, "bash", "-c", "echo hi")),
        await throughput(sandbox, engine.binary, engine.env as NodeJS.ProcessEnv, spec.name),
      ];
    } finally {
      docker("rm", "-f", spec.name);
      await rm(folder, { recursive: true, force: true });
    }
  },
};

/** The engine of the test services, started when it does not run yet; it stays, for the next bench. */
function runningEngine(): RunningPart<"docker"> {
  const found = loadPart("docker");
  if (found.state === "running") return found;
  spawnSync(SERVICES, ["start", "docker"], { stdio: ["ignore", 2, 2] });
  const started = loadPart("docker");
  if (started.state !== "running")
    throw new Error("no Docker engine could be started; the lines above say why");
  return started;
}

const silent = { onNotice: () => undefined, onProgress: () => undefined };

async function specFor(image: string, folder: string): Promise<SandboxSpec> {
  const options = terminalOptions.parse({
    backend: "docker",
    docker_image: image,
    docker_network: false,
    container_disk: 0,
  });
  const { spec } = await createSandboxSpec(
    options,
    { profile: "bench", profileId: randomBytes(8).toString("hex"), task: "bench" },
    {
      sandboxesFolder: folder,
      stateFolders: [],
      userHome: "/nonexistent",
      cwd: folder,
      remoteEngine: false,
      ownMounts: undefined,
      user: undefined,
      findValue: () => undefined,
    },
  );
  return spec;
}

/** One command and the wait until the channel is free again, so that commands in a row are measured and not in parallel. */
function echoIn(environment: Environment): () => Promise<void> {
  const session = environment.openSession();
  return async () => {
    const { exitCode } = await environment.run(
      { command: "echo hi", session, timeoutMs: 30_000, onOutput: () => undefined },
      never,
    );
    if (exitCode !== 0) throw new Error(`echo ended with ${exitCode}`);
  };
}

async function roundTrips(
  inSandbox: () => Promise<void>,
  onHost: () => Promise<void>,
  exec: () => void,
): Promise<Measurement[]> {
  const beside = await medians(ROUNDS, inSandbox, onHost);
  const engine = await medians(SLOW_ROUNDS, inSandbox, exec);
  return [
    {
      name: "command in a container ÷ docker exec",
      ours: milliseconds(engine.ours),
      peer: milliseconds(engine.peer),
      ratio: engine.ours / engine.peer,
      budget: { max: 1 / 15 },
    },
    // The larger of 1.5 × and 1 ms more than the local channel.
    {
      name: "command in a container ÷ local",
      ours: milliseconds(beside.ours),
      peer: milliseconds(beside.peer),
      ratio: beside.ours / beside.peer,
      budget: { max: Math.max(1.5, 1 + 1 / beside.peer) },
    },
  ];
}

async function attachment(open: () => Environment, exec: () => void): Promise<Measurement> {
  const closing: PromiseLike<void>[] = [];
  const attach = async (): Promise<void> => {
    const environment = open();
    await echoIn(environment)();
    closing.push(environment[Symbol.asyncDispose]());
  };
  const { ours, peer } = await medians(SLOW_ROUNDS, attach, exec);
  await Promise.all(closing);
  return {
    name: "attach and first command ÷ docker exec",
    ours: milliseconds(ours),
    peer: milliseconds(peer),
    ratio: ours / peer,
    budget: { max: 2 },
  };
}

async function throughput(
  environment: Environment,
  binary: string,
  env: NodeJS.ProcessEnv,
  name: string,
): Promise<Measurement> {
  const command = `head -c ${OUTPUT_BYTES} /dev/zero`;
  const ours = async (): Promise<void> => {
    let seen = 0;
    const count = (_: string, bytes: Uint8Array): void => {
      seen += bytes.length;
    };
    await environment.run(
      { command, session: environment.openSession(), timeoutMs: 120_000, onOutput: count },
      never,
    );
    if (seen !== OUTPUT_BYTES) throw new Error(`saw ${seen} bytes`);
  };
  const peer = (): Promise<void> =>
    new Promise((resolve, reject) => {
      let seen = 0;
      const child = spawn(binary, ["exec", name, "sh", "-c", command], { env });
      child.stdout.on("data", (bytes: Buffer) => {
        seen += bytes.length;
      });
      child.once("close", () => (seen === OUTPUT_BYTES ? resolve() : reject(new Error(`saw ${seen} bytes`))));
    });
  const found = await medians(3, ours, peer);
  const rate = (ms: number): string => `${(OUTPUT_BYTES / 1e6 / (ms / 1_000)).toFixed(0)} MB/s`;
  return {
    name: "100 MB of output: speed ÷ docker exec",
    ours: rate(found.ours),
    peer: rate(found.peer),
    ratio: found.peer / found.ours,
    budget: { min: 1 / 3 },
  };
}
