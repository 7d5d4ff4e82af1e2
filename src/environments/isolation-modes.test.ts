import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { expect, test, vi } from "vitest";
import { type DockerLab, openDockerLab, testOptions } from "../../test/support/docker.ts";
import { describeWith } from "../../test/support/services.ts";
import { TurnableClock } from "../../test/support/turnable-clock.ts";
import { neverAborted } from "../lib/time/never-aborted.ts";
import { findOpeningInUse } from "./containment.ts";
import { collect } from "./environment.contract.ts";
import { createEnvironmentRegistry, type EnvironmentRegistry } from "./environment-registry.ts";
import { type EnvironmentRequest, environmentTask } from "./environment-request.ts";
import { openEnvironment } from "./open-environment.ts";
import type { TerminalOptions } from "./options.ts";

vi.setConfig({ testTimeout: 600_000 }); // each test creates several sandboxes

describeWith("docker", "isolation of sandboxes", (service) => {
  /** The request of a task in a session; a session's agent and its subagent are two tasks. */
  const requestFor = (
    lab: DockerLab,
    settings: Partial<TerminalOptions>,
    session: string,
    task: string,
  ): EnvironmentRequest => {
    const home = join(lab.folder, "home");
    const options = testOptions(service.images.busybox, { docker_binary: service.client, ...settings });
    return {
      options,
      profile: { name: "tester", root: home, home },
      profileId: async () => lab.profileId,
      task: environmentTask(options.isolation, { session, task }),
      variables: { ...process.env, DOCKER_HOST: service.host },
      variable: () => undefined,
      userHome: join(lab.folder, "user"),
      cwd: join(lab.folder, "project"),
      reporter: lab.reporter,
    };
  };
  const open = (clock = new TurnableClock()) =>
    createEnvironmentRegistry({
      open: openEnvironment,
      reclaimAbandoned: async () => undefined,
      clock,
      onError: (what, error) => {
        throw new Error(what, { cause: error });
      },
    });
  const hostnameIn = async (registry: EnvironmentRegistry, request: EnvironmentRequest) => {
    await using handle = await registry.acquire(request, neverAborted);
    return (await collect(handle, "hostname")).stdout.trim();
  };

  test("agent K1: an existing sandbox with a folder of the host is not isolated, although the settings no longer name the folder", async () => {
    await using lab = await openDockerLab(service);
    const settings = requestFor(lab, { isolation: "shared" }, "s", "s");
    expect(await findOpeningInUse(settings, neverAborted)).toBeUndefined();
    await mkdir(settings.cwd, { recursive: true });
    const mounting = requestFor(lab, { isolation: "shared", docker_mount_cwd_to_workspace: true }, "s", "s");
    await using registry = open();
    await hostnameIn(registry, mounting);
    expect(await findOpeningInUse(settings, neverAborted)).toContain("created with other settings");
    expect(await findOpeningInUse(mounting, neverAborted)).toBeUndefined();
  });

  test.each([
    ["shared", [true, true, true]],
    ["session", [true, true, false]],
    ["task", [true, false, false]],
  ] as const)(
    "F68: isolation %s decides who shares a container, in this process and in the next",
    async (isolation, [sameAgain, sameSubagent, sameSession]) => {
      await using lab = await openDockerLab(service);
      let first = "";
      {
        await using registry = open();
        first = await hostnameIn(registry, requestFor(lab, { isolation }, "s1", "main"));
        const subagent = await hostnameIn(registry, requestFor(lab, { isolation }, "s1", "subagent"));
        const other = await hostnameIn(registry, requestFor(lab, { isolation }, "s2", "other"));
        expect(subagent === first).toBe(sameSubagent);
        expect(other === first).toBe(sameSession);
      }
      await using later = open();
      expect((await hostnameIn(later, requestFor(lab, { isolation }, "s1", "main"))) === first).toBe(
        sameAgain,
      );
      expect(await lab.containers()).toHaveLength({ shared: 1, session: 2, task: 3 }[isolation]);
    },
  );

  const ephemeral = { isolation: "session", container_persistent: false } as const;
  const count = (lab: DockerLab) => vi.waitFor(async () => (await lab.containers()).length);

  test("F68, D2: the idle sandbox of a session without kept files is removed, but not while another process uses it", async () => {
    await using lab = await openDockerLab(service);
    const [ours, theirs] = [new TurnableClock(), new TurnableClock()];
    await using registry = open(ours);
    await using elsewhere = open(theirs);
    const own = requestFor(lab, { ...ephemeral, lifetime_seconds: 60 }, "s1", "main");
    const held = await elsewhere.acquire(own, neverAborted);
    await collect(held, "echo a > /workspace/a");
    await hostnameIn(registry, own);
    await ours.advance(120_000);
    await registry[Symbol.asyncDispose](); // waits for teardowns in progress
    expect((await collect(held, "cat /workspace/a")).stdout).toBe("a\n");
    expect(await count(lab)).toBe(1);
    await held[Symbol.asyncDispose]();
    await theirs.advance(120_000);
    await elsewhere[Symbol.asyncDispose]();
    expect(await count(lab)).toBe(0);
  });

  test("F68: a session whose files are kept, or that another process may resume, keeps its sandbox", async () => {
    await using lab = await openDockerLab(service);
    {
      await using registry = open();
      await hostnameIn(registry, requestFor(lab, { isolation: "session" }, "kept", "main"));
      await hostnameIn(registry, requestFor(lab, ephemeral, "resumable", "main"));
    }
    expect(await count(lab)).toBe(2);
  });
});
