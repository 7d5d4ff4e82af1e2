import { expect, it } from "vitest";
import { type DockerLab, never, openDockerLab } from "../../../test/support/docker.ts";
import { describeWith } from "../../../test/support/services.ts";
import { ensureSandbox } from "./ensure-sandbox.ts";
import type { SandboxSpec, TerminalOptions } from "./sandbox-spec.ts";

const LONG = { timeout: 600_000 };

describeWith("docker", "ensureSandbox with changed settings", (service) => {
  const ensure = (lab: DockerLab, spec: SandboxSpec, engine = lab.engine) =>
    ensureSandbox(engine, spec, lab.reporter, never);
  /** A sandbox that runs, and what is asked for afterwards. */
  async function runningThen(lab: DockerLab, later: Partial<TerminalOptions>) {
    const first = await ensure(lab, await lab.spec());
    return { first, spec: await lab.spec(later) };
  }
  const stateOf = (lab: DockerLab, id: string) => lab.inspect(id, "{{.State.Status}}");

  it(
    "C16, F10: by default one made with other settings is kept, and the differences are told",
    LONG,
    async () => {
      await using lab = await openDockerLab(service);
      const { first, spec } = await runningThen(lab, {
        container_memory: 300,
        docker_image: service.images.bash,
      });
      const again = await ensure(lab, spec);
      expect(again).toMatchObject({ id: first.id, how: "attached" });
      expect(again.drift).toEqual([
        { field: "container_memory", had: "256", wants: "300" },
        { field: "docker_image", had: service.images.busybox, wants: service.images.bash },
      ]);
      expect(lab.notices.join()).toContain("container_memory (has 256, wanted 300)");
    },
  );

  it("C16: a changed value of docker_env is told by its name only", LONG, async () => {
    await using lab = await openDockerLab(service);
    await ensure(lab, await lab.spec({ docker_env: { MODE: "a-secret-one", SAME: "x" } }));
    const { drift } = await ensure(lab, await lab.spec({ docker_env: { MODE: "another", SAME: "x" } }));
    expect(drift.map(({ field }) => field)).toEqual(["docker_env.MODE"]);
    expect(JSON.stringify([drift, lab.notices])).not.toContain("a-secret-one");
  });

  it("C16: `replace` makes a new one and removes the old", LONG, async () => {
    await using lab = await openDockerLab(service);
    const { first, spec } = await runningThen(lab, { container_memory: 300, docker_on_drift: "replace" });
    const next = await ensure(lab, spec);
    expect(next).toMatchObject({ how: "replaced", name: first.name, drift: [] });
    expect(await lab.containers()).toEqual([next.id]);
    expect(await lab.inspect(next.id, "{{.HostConfig.Memory}}")).toBe(String(300 * 1024 ** 2));
    expect(await ensure(lab, spec)).toMatchObject({ id: next.id, how: "attached", drift: [] });
  });

  it("C16: `replace` takes nothing away from a process that uses it", LONG, async () => {
    await using lab = await openDockerLab(service);
    const { first, spec } = await runningThen(lab, { container_memory: 300, docker_on_drift: "replace" });
    await lab.docker("exec", "-d", first.id, "sh", "-c", "sleep 600; :", "hermes-channel");
    expect(await ensure(lab, spec)).toMatchObject({ id: first.id, how: "attached" });
    expect(lab.notices.join()).toContain("is in use");
  });

  it("C16: `refuse` names the differences and changes nothing", LONG, async () => {
    await using lab = await openDockerLab(service);
    const { first, spec } = await runningThen(lab, { docker_pids_limit: 99, docker_on_drift: "refuse" });
    await expect(ensure(lab, spec)).rejects.toMatchObject({
      code: "sandbox-drifted",
      message: expect.stringContaining("docker_pids_limit (has 1024, wanted 99)"),
    });
    expect(await stateOf(lab, first.id)).toBe("running");
  });

  it("C17: who asks for no network never gets one that has it, whatever is to be kept", LONG, async () => {
    await using lab = await openDockerLab(service);
    const first = await ensure(lab, await lab.spec({ docker_network: true }));
    const next = await ensure(lab, await lab.spec({ docker_network: false }));
    expect(next.how).toBe("replaced");
    expect(await lab.inspect(next.id, "{{.HostConfig.NetworkMode}}")).toBe("none");
    expect(await lab.containers()).not.toContain(first.id);
  });

  it("C17: the reverse, no network where one is wanted, is kept", LONG, async () => {
    await using lab = await openDockerLab(service);
    const { first, spec } = await runningThen(lab, { docker_network: true });
    expect(await ensure(lab, spec)).toMatchObject({ id: first.id, how: "attached" });
  });
});
