import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { startChild } from "../../../test/support/child.ts";
import { type DockerLab, openDockerLab } from "../../../test/support/docker.ts";
import { scale } from "../../../test/support/scale.ts";
import { describeWith } from "../../../test/support/services.ts";
import { tempFolder } from "../../../test/support/temp-folder.ts";
import type { LoopInput } from "../../../test/support/write-loop-child.ts";
import { openDockerEnvironment } from "../docker/docker-environment.ts";
import { collect } from "../environment.contract.ts";
import type { Environment } from "../environment.ts";
import { openLocalEnvironment } from "../local/local-environment.ts";
import { terminalOptions } from "../options.ts";
import { createEnvironmentFiles } from "./environment-files.ts";

const CHILD = new URL("../../../test/support/write-loop-child.ts", import.meta.url);
const signal = AbortSignal.timeout(7_200_000); // for the whole file

/** Kills writers at random times and checks the file from a separate environment. */
async function killWriters(environment: Environment, folder: string, input: LoopInput): Promise<void> {
  const files = createEnvironmentFiles(environment, environment.openSession());
  for (let kill = 0; kill < scale.kills; kill++) {
    await using child = startChild(CHILD, "loop", input);
    await child.next(); // it has started to write and continues
    await sleep(Math.random() * 120); // a random time for the kill, not synchronisation
    await child.kill();
    const now = await files.readBytes(input.path, input.bytes * 2, signal);
    if (now.kind !== "bytes") throw new Error(now.message);
    const letter = String.fromCharCode(now.bytes[0] ?? 0);
    expect(letter).toMatch(/^[a-z]$/);
    expect(Buffer.compare(now.bytes, Buffer.alloc(input.bytes, letter))).toBe(0);
  }
  // A killed writer cannot clean up: the next writer does it once the process has exited.
  await vi.waitFor(
    async () => {
      const outcome = await files.write(input.path, Buffer.from("whole"), {}, signal);
      expect(outcome).toMatchObject({ kind: "written" });
      expect((await collect(environment, `ls -A ${folder}`)).stdout).toBe("f\n");
    },
    { timeout: 150_000, interval: 500 },
  );
}

describe("the local environment", () => {
  test("E3: a writer killed at any time leaves one complete version, and the next write removes its temporary files", async () => {
    await using temp = await tempFolder();
    await using environment = await openLocalEnvironment({
      options: terminalOptions.parse({ shell_init_files: ["/dev/null"] }),
      variables: { PATH: process.env["PATH"], HOME: temp.path },
      profileHome: temp.path,
      cwd: temp.path,
    });
    const folder = temp.file("files");
    await killWriters(environment, folder, {
      docker: undefined,
      home: temp.path,
      path: `${folder}/f`,
      bytes: 2_000_000,
    });
  }, 600_000);
});

describeWith("docker", "the docker environment", (service) => {
  let lab: DockerLab;
  beforeAll(async () => {
    lab = await openDockerLab(service);
  });
  afterAll(async () => {
    await lab[Symbol.asyncDispose]();
  });

  test("E3: a writer killed at any time leaves one complete version, and the next write removes its temporary files", async () => {
    const { engine, reporter, profileId, folder } = lab;
    const image = service.images.busybox;
    const spec = await lab.spec({ docker_image: image });
    await using environment = await openDockerEnvironment({
      engine,
      spec,
      reporter,
    });
    const docker = { binary: service.client, dockerHost: service.host, profileId, folder, image };
    await killWriters(environment, "/tmp/files", {
      docker,
      home: folder,
      path: "/tmp/files/f",
      bytes: 2_000_000,
    });
  }, 600_000);
});
