import { expect, it } from "vitest";
import { type DockerLab, never, openDockerLab } from "../../../test/support/docker.ts";
import { describeWith } from "../../../test/support/services.ts";
import { findContainer } from "./container.ts";
import { ensureSandbox } from "./ensure-sandbox.ts";
import { describeIsolation, isolationOf } from "./isolation.ts";
import type { TerminalOptions } from "./sandbox-spec.ts";

const LONG = { timeout: 600_000 };

describeWith("docker", "the statement of isolation", (service) => {
  async function isolation(lab: DockerLab, id: string) {
    const container = await findContainer(lab.engine, id, never);
    if (container === undefined) throw new Error("it has gone");
    return isolationOf(container);
  }
  async function made(lab: DockerLab, options: Partial<TerminalOptions>) {
    const { id } = await ensureSandbox(lab.engine, await lab.spec(options), lab.reporter, never);
    return { id, ...(await isolation(lab, id)) };
  }

  it("tells what the engine really does, and the kernel agrees", LONG, async () => {
    await using lab = await openDockerLab(service);
    const said = await made(lab, {
      docker_read_only: true,
      docker_volumes: [`${lab.host.cwd}:/data`, `${lab.host.userHome}/../project:/seen:ro`],
      docker_pids_limit: 55,
    });
    expect(said).toMatchObject({
      network: "none",
      user: "",
      capabilities: ["CHOWN", "DAC_OVERRIDE", "FOWNER", "SETGID", "SETUID"],
      noNewPrivileges: true,
      readOnlyRoot: true,
      cpus: 1,
      memoryBytes: 256 * 1024 ** 2,
      pids: 55,
      disk: undefined,
      runtime: "runc",
    });
    expect(said.writable.map(({ target }) => target)).toEqual([
      "/data",
      "/root",
      "/run",
      "/tmp",
      "/var/tmp",
      "/workspace",
    ]);
    expect(said.writable[0]).toEqual({ target: "/data", source: lab.host.cwd });
    expect(said.writable[2]).toEqual({ target: "/run", source: undefined });
    const status = await lab.docker(
      "exec",
      said.id,
      "grep",
      "-E",
      "^(CapBnd|NoNewPrivs)",
      "/proc/self/status",
    );
    const bits = [0, 1, 3, 6, 7].reduce((mask, bit) => mask | (1 << bit), 0);
    expect(status).toBe(`CapBnd:\t${bits.toString(16).padStart(16, "0")}\nNoNewPrivs:\t1`);
    expect(describeIsolation(said)).toBe(
      "network none; user of the image; capabilities CHOWN DAC_OVERRIDE FOWNER SETGID SETUID; no new privileges; " +
        `root file system read-only; writable: /data (${lab.host.cwd}), ` +
        `/root (${said.writable[1]?.source}), /run (memory), /tmp (memory), /var/tmp (memory), ` +
        `/workspace (${said.writable[5]?.source}); limits: 1 CPUs, 256 MB memory, 55 processes; runtime runc`,
    );
  });

  it("tells a weaker sandbox for what it is, whatever the settings say", LONG, async () => {
    await using lab = await openDockerLab(service);
    const said = await made(lab, {
      docker_network: true,
      container_cpu: 0,
      container_memory: 0,
      docker_pids_limit: 0,
      docker_snap_compat: true,
      docker_run_as_host_user: true,
      docker_extra_args: ["--cap-add", "NET_RAW"],
    });
    expect(said).toMatchObject({
      network: expect.not.stringMatching("none"),
      user: "1234:2345",
      capabilities: ["CHOWN", "DAC_OVERRIDE", "FOWNER", "NET_RAW"],
      noNewPrivileges: false,
      readOnlyRoot: false,
      cpus: undefined,
      memoryBytes: undefined,
      pids: undefined,
    });
    expect(describeIsolation(said)).toContain("new privileges possible");
  });

  it("knows the capabilities of a container that nobody confined", LONG, async () => {
    await using lab = await openDockerLab(service);
    const label = `hermes-profile-id=${lab.profileId}`;
    const plain = await lab.docker(
      "create",
      "--label",
      label,
      "--cap-drop",
      "KILL",
      service.images.busybox,
      "true",
    );
    expect((await isolation(lab, plain)).capabilities).toHaveLength(13);
    const all = await lab.docker("create", "--label", label, "--privileged", service.images.busybox, "true");
    expect((await isolation(lab, all)).capabilities).toEqual(["ALL"]);
  });
});
