import { expect, it } from "vitest";
import { type DockerLab, openDockerLab } from "../../../../test/support/docker.ts";
import { describeWith } from "../../../../test/support/services.ts";
import { neverAborted } from "../../../lib/time/never-aborted.ts";
import type { TerminalOptions } from "../../options.ts";
import type { SandboxSpec } from "../spec/sandbox-spec.ts";
import { ensureSandbox } from "./ensure-sandbox.ts";

const LONG = { timeout: 600_000 };

describeWith("docker", "ensureSandbox with changed settings", (service) => {
  const ensure = (lab: DockerLab, spec: SandboxSpec, engine = lab.engine) =>
    ensureSandbox(engine, spec, lab.reporter, neverAborted);
  /** A running sandbox, and a spec from later settings. */
  async function runningThen(lab: DockerLab, later: Partial<TerminalOptions>) {
    const first = await ensure(lab, await lab.spec());
    return { first, spec: await lab.spec(later) };
  }
  const stateOf = (lab: DockerLab, id: string) => lab.inspect(id, "{{.State.Status}}");

  it(
    "C16, F10: by default a sandbox created with other settings is kept, and the differences are reported",
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
      expect(lab.notices.join()).toContain("`hermes sandbox rm`");
    },
  );

  it("C16: a changed value of docker_env is reported by its name only", LONG, async () => {
    await using lab = await openDockerLab(service);
    await ensure(lab, await lab.spec({ docker_env: { MODE: "a-secret-one", SAME: "x" } }));
    const { drift } = await ensure(lab, await lab.spec({ docker_env: { MODE: "another", SAME: "x" } }));
    expect(drift.map(({ field }) => field)).toEqual(["docker_env.MODE"]);
    expect(JSON.stringify([drift, lab.notices])).not.toContain("a-secret-one");
  });

  it("C16: `replace` creates a new sandbox and removes the old one", LONG, async () => {
    await using lab = await openDockerLab(service);
    const { first, spec } = await runningThen(lab, { container_memory: 300, docker_on_drift: "replace" });
    const next = await ensure(lab, spec);
    expect(next).toMatchObject({ how: "replaced", name: first.name, drift: [] });
    expect(await lab.containers()).toEqual([next.id]);
    expect(await lab.inspect(next.id, "{{.HostConfig.Memory}}")).toBe(String(300 * 1024 ** 2));
    expect(await ensure(lab, spec)).toMatchObject({ id: next.id, how: "attached", drift: [] });
  });

  it("C16: `replace` keeps a sandbox that another process uses", LONG, async () => {
    await using lab = await openDockerLab(service);
    const { first, spec } = await runningThen(lab, { container_memory: 300, docker_on_drift: "replace" });
    await lab.startIn(first.id, "sh", "-c", "sleep 600; :", "hermes-channel");
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

  it(
    "C17: a sandbox with a network is replaced when the network is turned off, even with `keep`",
    LONG,
    async () => {
      await using lab = await openDockerLab(service);
      const first = await ensure(lab, await lab.spec({ docker_network: true }));
      const next = await ensure(lab, await lab.spec({ docker_network: false }));
      expect(next.how).toBe("replaced");
      expect(await lab.inspect(next.id, "{{.HostConfig.NetworkMode}}")).toBe("none");
      expect(await lab.containers()).not.toContain(first.id);
    },
  );

  it("C17: a sandbox without a network is kept when the network is turned on", LONG, async () => {
    await using lab = await openDockerLab(service);
    const { first, spec } = await runningThen(lab, { docker_network: true });
    expect(await ensure(lab, spec)).toMatchObject({ id: first.id, how: "attached" });
  });
});
