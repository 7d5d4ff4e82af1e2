import { mkdir } from "node:fs/promises";
import { createServer } from "node:net";
import { join } from "node:path";
import { expect, it } from "vitest";
import { type DockerLab, openDockerLab } from "../../../../test/support/docker.ts";
import { describeWith } from "../../../../test/support/services.ts";
import { neverAborted } from "../../../lib/time/never-aborted.ts";
import type { TerminalOptions } from "../../options.ts";
import { findContainer } from "../lifecycle/container.ts";
import { ensureSandbox } from "../lifecycle/ensure-sandbox.ts";
import { describeIsolation, readIsolation } from "./isolation.ts";

const LONG = { timeout: 600_000 };

describeWith("docker", "readIsolation", (service) => {
  async function isolation(lab: DockerLab, id: string) {
    const container = await findContainer(lab.engine, id, neverAborted);
    if (container === undefined) throw new Error("the container does not exist");
    return readIsolation(lab.engine, container, neverAborted);
  }
  async function createAndRead(lab: DockerLab, options: Partial<TerminalOptions>) {
    const { id } = await ensureSandbox(lab.engine, await lab.spec(options), lab.reporter, neverAborted);
    return { id, ...(await isolation(lab, id)) };
  }

  it("reports the isolation that the engine applies, and the kernel agrees", LONG, async () => {
    await using lab = await openDockerLab(service);
    const found = await createAndRead(lab, {
      docker_read_only: true,
      docker_volumes: [`${lab.host.cwd}:/data`, `${lab.host.userHome}/../project:/seen:ro`],
      docker_pids_limit: 55,
    });
    expect(found).toMatchObject({
      network: "none",
      seenFromInside: true,
      privileged: false,
      interfaces: ["lo"],
      user: "0:0",
      capabilities: ["CHOWN", "DAC_OVERRIDE", "FOWNER", "SETGID", "SETUID"],
      noNewPrivileges: true,
      filtersSystemCalls: true,
      hostNamespaces: [],
      devices: [],
      sockets: [],
      engineSockets: [],
      readOnlyRoot: true,
      cpus: 1,
      memoryBytes: 256 * 1024 ** 2,
      pids: 55,
      disk: undefined,
      runtime: "runc",
    });
    expect(found.writable.map(({ target }) => target)).toEqual([
      "/data",
      "/dev/shm",
      "/root",
      "/run",
      "/tmp",
      "/var/tmp",
      "/workspace",
    ]);
    expect(found.writable[0]).toEqual({ target: "/data", source: lab.host.cwd });
    expect(found.writable[3]).toEqual({ target: "/run", source: undefined });
    const status = await lab.docker(
      "exec",
      found.id,
      "grep",
      "-E",
      "^(CapBnd|NoNewPrivs)",
      "/proc/self/status",
    );
    const bits = [0, 1, 3, 6, 7].reduce((mask, bit) => mask | (1 << bit), 0);
    expect(status).toBe(`CapBnd:\t${bits.toString(16).padStart(16, "0")}\nNoNewPrivs:\t1`);
    expect(describeIsolation(found).join("; ")).toBe(
      "network none; user 0:0; capabilities CHOWN DAC_OVERRIDE FOWNER SETGID SETUID; no new privileges; " +
        "system calls filtered; devices none beyond the usual; " +
        `root file system read-only; writable: /data (${lab.host.cwd}), /dev/shm (memory), ` +
        `/root (${found.writable[2]?.source}), /run (memory), /tmp (memory), /var/tmp (memory), ` +
        `/workspace (${found.writable[6]?.source}); limits: 1 CPUs, 256 MB memory, 55 processes, unlimited disk; runtime runc`,
    );
  });

  it("reports the weaker isolation of a sandbox with fewer restrictions", LONG, async () => {
    await using lab = await openDockerLab(service);
    const found = await createAndRead(lab, {
      docker_network: true,
      container_cpu: 0,
      container_memory: 0,
      docker_pids_limit: 0,
      docker_snap_compat: true,
      docker_run_as_host_user: true,
      docker_extra_args: ["--cap-add", "NET_RAW"],
    });
    expect(found).toMatchObject({
      network: expect.not.stringMatching("none"),
      user: "1234:2345",
      capabilities: ["CHOWN", "DAC_OVERRIDE", "FOWNER", "NET_RAW"],
      noNewPrivileges: false,
      readOnlyRoot: false,
      cpus: undefined,
      memoryBytes: undefined,
      pids: undefined,
    });
    const lines = describeIsolation(found);
    expect(lines).toContain("new privileges possible");
    expect(lines).toContain("limits: unlimited CPUs, unlimited memory, unlimited processes, unlimited disk");
  });

  it("reports each extra argument that weakens the sandbox, as the kernel sees it", LONG, async () => {
    await using lab = await openDockerLab(service);
    const socket = join(lab.folder, "agent.sock");
    await using _ = await listen(socket);
    const found = await createAndRead(lab, {
      docker_extra_args: [
        ...["--security-opt", "no-new-privileges:false", "--security-opt", "seccomp=unconfined"],
        ...["--pid=host", "--ipc=host", "--uts=host", "--device", "/dev/kmsg", "--memory=64m", "--cpus=0.5"],
      ],
      docker_volumes: [`${socket}:/run-agent.sock`],
    });
    expect(found).toMatchObject({
      noNewPrivileges: false,
      filtersSystemCalls: false,
      hostNamespaces: ["ipc", "pid", "uts"],
      devices: ["/dev/kmsg"],
      sockets: ["/run-agent.sock"],
      engineSockets: [],
      memoryBytes: 64 * 1024 ** 2,
      cpus: 0.5,
    });
    expect(describeIsolation(found)).toEqual(
      expect.arrayContaining([
        "new privileges possible",
        "system calls not filtered (seccomp is off)",
        "namespace pid of the host: processes of the host are visible",
        "devices /dev/kmsg",
        "sockets of the host: /run-agent.sock",
      ]),
    );
  });

  it("reports an engine's socket, even in a mounted folder or under another name", LONG, async () => {
    await using lab = await openDockerLab(service);
    Object.assign(lab.host, { engineSockets: undefined });
    const folder = join(lab.folder, "sockets");
    await mkdir(folder);
    await using _ = await listen(join(folder, "podman.sock"));
    const found = await createAndRead(lab, {
      docker_volumes: [`${service.socket}:/engine`, `${folder}:/sockets:ro`],
    });
    expect(found.engineSockets).toEqual(["/engine", "/sockets/podman.sock"]);
    expect(describeIsolation(found)[0]).toBe(
      "ENGINE SOCKET /engine: commands control the engine, and with it the whole machine",
    );
  });

  it(
    "uses only the engine's description for a stopped container, where the last option applies",
    LONG,
    async () => {
      await using lab = await openDockerLab(service);
      const create = async (...args: readonly string[]) => {
        const label = ["--label", `hermes-profile-id=${lab.profileId}`];
        return isolation(lab, await lab.docker("create", ...label, ...args, service.images.busybox, "true"));
      };
      const plain = await create("--cap-drop", "KILL", "--security-opt", "no-new-privileges");
      expect(plain).toMatchObject({ seenFromInside: false, noNewPrivileges: true, filtersSystemCalls: true });
      expect(plain.capabilities).toHaveLength(13);
      const opened = await create(
        ...["--security-opt", "no-new-privileges", "--security-opt", "no-new-privileges=false"],
        ...["--pid=host", "--device", "/dev/kmsg", "--volume", `${service.socket}:/engine`],
      );
      expect(opened).toMatchObject({
        noNewPrivileges: false,
        hostNamespaces: ["pid"],
        devices: ["/dev/kmsg"],
        engineSockets: ["/engine"],
      });
      const all = await create("--privileged");
      expect(all).toMatchObject({ privileged: true, capabilities: ["ALL"], filtersSystemCalls: false });
      expect(describeIsolation(all)[0]).toContain("PRIVILEGED");
    },
  );
});

/** A server of the host that listens on a socket. */
async function listen(path: string): Promise<AsyncDisposable> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(path, resolve));
  return { [Symbol.asyncDispose]: () => new Promise((resolve) => server.close(() => resolve())) };
}
