import { randomBytes } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { testHost, testOptions } from "../../../test/support/docker.ts";
import { describeWith } from "../../../test/support/services.ts";
import { neverAborted } from "../../lib/time/never-aborted.ts";
import { collect, environmentContract } from "../environment.contract.ts";
import { openDockerEnvironment } from "./docker-environment.ts";
import { createEngine } from "./engine/engine.ts";
import { readIsolation } from "./isolation/isolation.ts";
import { findContainer } from "./lifecycle/container.ts";
import { listSandboxes, type SandboxQuery } from "./lifecycle/list-sandboxes.ts";
import { stopSandbox } from "./lifecycle/remove-sandbox.ts";
import { createSandboxSpec } from "./spec/sandbox-spec.ts";

describeWith("podman", "the docker environment with podman as its engine", (service) => {
  const engine = createEngine(service.client, { ...process.env, ...service.env });
  const profileId = randomBytes(8).toString("hex");
  const query: SandboxQuery = {
    profile: { name: "tester", id: profileId },
    stores: [],
    keepRules: { lifetimeSeconds: 300, stoppedTtlSeconds: 0 },
    withSize: false,
    specOf: async () => undefined,
  };
  let folder = "";

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "hermes-podman-"));
  });
  afterAll(async () => {
    const ids = (await listSandboxes(engine, query, neverAborted)).map(({ id }) => id);
    if (ids.length > 0) await engine.run(["rm", "-f", ...ids], { timeoutMs: 30_000 }, neverAborted);
    await rm(folder, { recursive: true, force: true });
  });

  const specOf = async () => {
    const options = testOptions(service.images.bash, { backend: "podman" });
    return (
      await createSandboxSpec(options, { profile: "tester", profileId, task: "default" }, testHost(folder))
    ).spec;
  };
  const open = async () =>
    openDockerEnvironment({
      engine,
      spec: await specOf(),
      reporter: { onNotice: () => undefined, onProgress: () => undefined },
    });

  environmentContract({ name: "podman", shell: "bash", folder: "/tmp", open });

  test("F12: an existing container of podman is found and not created twice", async () => {
    await using first = await open();
    await using second = await open();
    const names = await Promise.all([collect(first, "hostname"), collect(second, "hostname")]);
    expect(names[0].stdout).toBe(names[1].stdout);
    const rows = await listSandboxes(engine, query, neverAborted);
    expect(rows).toMatchObject([{ state: "running", leased: true, ours: true }]);
  });

  test("a paused sandbox can be stopped", async () => {
    await using environment = await open();
    expect((await collect(environment, "echo runs")).stdout).toBe("runs\n");
    const { name } = await specOf();
    await engine.run(["pause", name], 30_000, neverAborted);
    expect(await stopSandbox(engine, name, neverAborted)).toEqual({ outcome: "stopped" });
    expect((await findContainer(engine, name, neverAborted))?.state).toBe("exited");
  });

  test("F13: podman applies an init, limits, no new privileges and no network, according to its own description", async () => {
    await using environment = await open();
    expect((await collect(environment, "cat /proc/1/comm; ls /sys/class/net")).stdout).toMatch(
      /^(catatonit|podman-init)\nlo\n$/,
    );
    const container = await findContainer(engine, (await specOf()).name, neverAborted);
    if (container === undefined) throw new Error("the container does not exist");
    expect(await readIsolation(engine, container, neverAborted)).toMatchObject({
      noNewPrivileges: true,
      memoryBytes: 256 * 1024 * 1024,
      network: "none",
    });
  });
});
