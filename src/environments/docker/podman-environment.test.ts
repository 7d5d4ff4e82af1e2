import { randomBytes } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { testHost, testOptions } from "../../../test/support/docker.ts";
import { describeWith } from "../../../test/support/services.ts";
import { collect, environmentContract } from "../environment.contract.ts";
import { findContainer } from "./container.ts";
import { openDockerEnvironment } from "./docker-environment.ts";
import { createEngine } from "./engine.ts";
import { readIsolation } from "./isolation.ts";
import { listSandboxes, type SandboxQuery } from "./list-sandboxes.ts";
import { createSandboxSpec } from "./sandbox-spec.ts";

const never = new AbortController().signal;

describeWith("podman", "the docker environment with podman as its engine", (service) => {
  const engine = createEngine(service.client, { ...process.env, ...service.env });
  const profileId = randomBytes(8).toString("hex");
  const query: SandboxQuery = {
    profile: { name: "tester", id: profileId },
    places: [],
    keep: { lifetimeSeconds: 300, stoppedTtlSeconds: 0 },
    withSize: false,
    specOf: async () => undefined,
  };
  let folder = "";

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "hermes-podman-"));
  });
  afterAll(async () => {
    const ids = (await listSandboxes(engine, query, never)).map(({ id }) => id);
    if (ids.length > 0) await engine.run(["rm", "-f", ...ids], { timeoutMs: 30_000 }, never);
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
      sandboxesFolder: folder,
      reporter: { onNotice: () => undefined, onProgress: () => undefined },
    });

  environmentContract({ name: "podman", shell: "bash", folder: "/tmp", open });

  test("F12: a container that podman has is found again and not made twice", async () => {
    await using first = await open();
    await using second = await open();
    const names = await Promise.all([collect(first, "hostname"), collect(second, "hostname")]);
    expect(names[0].stdout).toBe(names[1].stdout);
    const rows = await listSandboxes(engine, query, never);
    expect(rows).toMatchObject([{ state: "running", leased: true, ours: true }]);
  });

  test("F13: podman is used as what it is: an init, limits, no new privileges and no network, by its own description", async () => {
    await using environment = await open();
    expect((await collect(environment, "cat /proc/1/comm; ls /sys/class/net")).stdout).toMatch(
      /^(catatonit|podman-init)\nlo\n$/,
    );
    const container = await findContainer(engine, (await specOf()).name, never);
    if (container === undefined) throw new Error("the container is gone");
    expect(await readIsolation(engine, container, never)).toMatchObject({
      noNewPrivileges: true,
      memoryBytes: 256 * 1024 * 1024,
      network: "none",
    });
  });
});
