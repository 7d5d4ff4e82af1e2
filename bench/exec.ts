import { execFileSync, spawn } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Environment } from "../src/environments/environment.ts";
import { openLocalEnvironment } from "../src/environments/local/local-environment.ts";
import { terminalOptions } from "../src/environments/options.ts";
import { neverAborted } from "../src/lib/time/never-aborted.ts";
import { type Bench, type Measurement, medianOf, medians, milliseconds } from "./bench.ts";
import { runningEngine, withSandbox } from "./sandbox.ts";

const ROUNDS = 100;
const SLOW_ROUNDS = 15;
const OUTPUT_BYTES = 100_000_000;

/** What a command in a sandbox costs, compared with the engine's own exec and with a local command. */
export const execBench: Bench = {
  name: "exec",
  run: () =>
    withSandbox(async ({ open, docker, engine, spec, folder }) => {
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
      const exec = (): void => docker("exec", spec.name, "bash", "-c", "echo hi");
      return [
        ...(await roundTrips(inSandbox, onHost, exec)),
        await attachment(open, exec),
        await wholeProgram(),
        await throughput(sandbox, engine.binary, engine.env as NodeJS.ProcessEnv, spec.name),
      ];
    }),
};

/** One command and the wait until the channel is free again, so that consecutive commands do not overlap. */
function echoIn(environment: Environment): () => Promise<void> {
  const session = environment.openSession();
  return async () => {
    const { exitCode } = await environment.run(
      { command: "echo hi", session, timeoutMs: 30_000, onOutput: () => undefined },
      neverAborted,
    );
    if (exitCode !== 0) throw new Error(`echo ended with ${exitCode}`);
  };
}

async function roundTrips(
  inSandbox: () => Promise<void>,
  onHost: () => Promise<void>,
  exec: () => void,
): Promise<Measurement[]> {
  const versusLocal = await medians(ROUNDS, inSandbox, onHost);
  // Not alternately: the engine still cleans up after `docker exec` has returned, which would slow down our command.
  const execMs = await medianOf(SLOW_ROUNDS, exec);
  return [
    {
      name: "command in a container ÷ docker exec",
      ours: milliseconds(versusLocal.ours),
      peer: milliseconds(execMs),
      ratio: versusLocal.ours / execMs,
      budget: { max: 1 / 15 },
    },
    // The larger of 1.5 × and 1 ms more than the local channel.
    {
      name: "command in a container ÷ local",
      ours: milliseconds(versusLocal.ours),
      peer: milliseconds(versusLocal.peer),
      ratio: versusLocal.ours / versusLocal.peer,
      budget: { max: Math.max(1.5, 1 + 1 / versusLocal.peer) },
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

/** The time of a script that runs one command in an existing sandbox. */
async function wholeProgram(): Promise<Measurement> {
  const { client, host, images } = runningEngine();
  const home = await mkdtemp(join(tmpdir(), "hermes-bench-"));
  const env = { ...process.env, HOME: home, HERMES_HOME: home, DOCKER_HOST: host };
  const settings = { backend: "docker", docker_image: images.bash, docker_network: false, container_disk: 0 };
  await writeFile(join(home, "config.yaml"), JSON.stringify({ terminal: settings }));
  const run = (program: string, ...args: string[]): string =>
    execFileSync(program, args, { env, encoding: "utf8", stdio: ["ignore", "pipe", "inherit"] });
  const inSandbox = (): string => run("node", "dist/main.cjs", "sandbox", "exec", "--", "true");
  try {
    run("./hermes", "--version"); // builds the program if it is out of date
    inSandbox();
    const [{ id }] = JSON.parse(run("node", "dist/main.cjs", "sandbox", "list", "--json"));
    const { ours, peer } = await medians(SLOW_ROUNDS, inSandbox, () => run(client, "exec", id, "true"));
    return {
      name: "hermes sandbox exec -- true ÷ docker exec",
      ours: milliseconds(ours),
      peer: milliseconds(peer),
      ratio: ours / peer,
      budget: { max: 3 },
    };
  } finally {
    run("node", "dist/main.cjs", "sandbox", "rm", "--force");
    await rm(home, { recursive: true, force: true });
  }
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
      neverAborted,
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
