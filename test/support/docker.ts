import { execFile } from "node:child_process";
import { randomBytes } from "node:crypto";
import { chmod, mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect } from "vitest";
import { openDockerEnvironment } from "../../src/environments/docker/docker-environment.ts";
import { createEngine, type Engine } from "../../src/environments/docker/engine/engine.ts";
import { createEngineSocket } from "../../src/environments/docker/engine/engine-socket.ts";
import {
  createSandboxSpec,
  type SandboxHost,
  type SandboxSpec,
} from "../../src/environments/docker/spec/sandbox-spec.ts";
import type { Environment } from "../../src/environments/environment.ts";
import type { Reporter } from "../../src/environments/environment-request.ts";
import { type TerminalOptions, terminalOptions } from "../../src/environments/options.ts";
import { createEngineClient } from "./engine-client.ts";
import type { RunningPart } from "./services.ts";
import { tempFolder } from "./temp-folder.ts";

const run = promisify(execFile);

/** The default options of tests: small, and without a network, which starts faster. */
export function testOptions(image: string, overrides: Partial<TerminalOptions> = {}): TerminalOptions {
  return terminalOptions.parse({
    backend: "docker",
    docker_image: image,
    docker_network: false,
    container_memory: 256,
    container_disk: 0,
    ...overrides,
  });
}

/** A machine whose folders are all in `folder`. */
export function testHost(folder: string): SandboxHost {
  return {
    sandboxesFolder: join(folder, "home/sandboxes"),
    stateFolders: [join(folder, "home")],
    userHome: join(folder, "user"),
    cwd: join(folder, "project"),
    engineSockets: [],
    remoteEngine: false,
    ownMounts: undefined,
    user: { uid: 1234, gid: 2345 },
    findValue: () => undefined,
  };
}

/** A separate profile on the real engine; all its containers are removed at the end of the scope. */
export interface DockerLab extends AsyncDisposable {
  readonly engine: Engine;
  readonly profileId: string;
  readonly folder: string;
  readonly host: SandboxHost;
  readonly notices: string[];
  readonly progress: string[];
  readonly reporter: Reporter;
  spec(overrides?: Partial<TerminalOptions>, task?: string): Promise<SandboxSpec>;
  /** Opens the environment of such a spec. */
  open(overrides?: Partial<TerminalOptions>): Promise<Environment>;
  /** Runs the real client and returns its output; throws if it fails. */
  docker(...args: readonly string[]): Promise<string>;
  /** Starts a process in a container and waits until it runs, which `docker exec -d` does not. */
  startIn(container: string, ...argv: readonly string[]): Promise<void>;
  /** The processes that run in a container, with their command lines. */
  top(container: string): Promise<string>;
  /** The value that `inspect` prints for a format. */
  inspect(id: string, format: string): Promise<string>;
  /** The profile's containers, in any state. */
  containers(): Promise<string[]>;
  /** Removes all containers of the profile, even running ones. */
  removeAll(): Promise<void>;
  /** The engine behind a script that gets `$@` first; `real` in the script runs the real client. */
  wrap(script: string): Promise<Engine>;
}

export async function openDockerLab({
  client,
  host,
  socket,
  images,
}: RunningPart<"docker">): Promise<DockerLab> {
  const temp = await tempFolder();
  const env = { ...process.env, DOCKER_HOST: host };
  const profileId = randomBytes(8).toString("hex");
  const machine = testHost(temp.path);
  for (const folder of [machine.cwd, machine.userHome]) await mkdir(folder, { recursive: true });
  const docker = async (...args: readonly string[]) => (await run(client, args, { env })).stdout.trim();
  const quick = createEngineClient(socket);
  const containers = () => quick.containersOf(profileId);
  const removeAll = async () => quick.remove(await containers());
  const notices: string[] = [];
  const progress: string[] = [];
  const engine = createEngine(client, env, createEngineSocket(socket));
  const reporter = {
    onNotice: (text: string) => void notices.push(text),
    onProgress: (text: string) => void progress.push(text),
  };
  const spec: DockerLab["spec"] = async (overrides = {}, task = "default") => {
    const options = testOptions(images.busybox, overrides);
    const created = await createSandboxSpec(options, { profile: "tester", profileId, task }, machine);
    notices.push(...created.notices);
    return created.spec;
  };
  return {
    engine,
    profileId,
    folder: temp.path,
    host: machine,
    notices,
    progress,
    reporter,
    docker,
    containers,
    removeAll,
    async startIn(container, ...argv) {
      await docker("exec", "-d", container, ...argv);
      await expect.poll(() => quick.top(container)).toContain(argv.join(" "));
    },
    top: quick.top,
    inspect: (id, format) => docker("container", "inspect", "--format", format, id),
    spec,
    open: async (overrides) =>
      openDockerEnvironment({
        engine,
        spec: await spec(overrides),
        reporter,
      }),
    async wrap(script) {
      const path = join(temp.path, `client-${randomBytes(4).toString("hex")}`);
      await writeFile(path, `#!/bin/sh\nreal() { ${client} "$@"; }\n${script}\nexec ${client} "$@"\n`);
      await chmod(path, 0o755);
      return createEngine(path, env);
    },
    async [Symbol.asyncDispose]() {
      await removeAll();
      await quick.removeImagesOf(profileId);
      await temp[Symbol.asyncDispose]();
    },
  };
}
