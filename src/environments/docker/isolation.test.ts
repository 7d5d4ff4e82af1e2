import { mkdir } from "node:fs/promises";
import { createServer } from "node:net";
import { join } from "node:path";
import { expect, it } from "vitest";
import { type DockerLab, never, openDockerLab } from "../../../test/support/docker.ts";
import { describeWith } from "../../../test/support/services.ts";
import { findContainer } from "./container.ts";
import { ensureSandbox } from "./ensure-sandbox.ts";
import { describeIsolation, readIsolation } from "./isolation.ts";
import type { TerminalOptions } from "./sandbox-spec.ts";

const LONG = { timeout: 600_000 };

describeWith("docker", "the statement of isolation", (service) => {
  async function isolation(lab: DockerLab, id: string) {
    const container = await findContainer(lab.engine, id, never);
    if (container === undefined) throw new Error("it has gone");
    return readIsolation(lab.engine, container, never);
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
    expect(describeIsolation(said).join("; ")).toBe(
      "network none; user 0:0; capabilities CHOWN DAC_OVERRIDE FOWNER SETGID SETUID; no new privileges; " +
        "system calls filtered; devices none beyond the usual; " +
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

  it("tells of each extra argument that weakens the sandbox, from the kernel's own words", LONG, async () => {
    await using lab = await openDockerLab(service);
    const socket = join(lab.folder, "agent.sock");
    await using _ = await listen(socket);
    const said = await made(lab, {
      docker_extra_args: [
        ...["--security-opt", "no-new-privileges:false", "--security-opt", "seccomp=unconfined"],
        ...["--pid=host", "--ipc=host", "--uts=host", "--device", "/dev/kmsg", "--memory=64m", "--cpus=0.5"],
      ],
      docker_volumes: [`${socket}:/run-agent.sock`],
    });
    expect(said).toMatchObject({
      noNewPrivileges: false,
      filtersSystemCalls: false,
      hostNamespaces: ["ipc", "pid", "uts"],
      devices: ["/dev/kmsg"],
      sockets: ["/run-agent.sock"],
      engineSockets: [],
      memoryBytes: 64 * 1024 ** 2,
      cpus: 0.5,
    });
    expect(describeIsolation(said)).toEqual(
      expect.arrayContaining([
        "new privileges possible",
        "system calls not filtered (seccomp is off)",
        "namespace pid of the host: the machine's processes can be seen",
        "devices /dev/kmsg",
        "sockets of the host: /run-agent.sock",
      ]),
    );
  });

  it("tells of an engine's socket, also in a mounted folder and under another name", LONG, async () => {
    await using lab = await openDockerLab(service);
    Object.assign(lab.host, { engineSockets: undefined });
    const folder = join(lab.folder, "sockets");
    await mkdir(folder);
    await using _ = await listen(join(folder, "podman.sock"));
    const said = await made(lab, {
      docker_volumes: [`${service.socket}:/engine`, `${folder}:/sockets:ro`],
    });
    expect(said.engineSockets).toEqual(["/engine", "/sockets/podman.sock"]);
    expect(describeIsolation(said)[0]).toBe(
      "ENGINE SOCKET /engine: commands control the engine, and with it the whole machine",
    );
  });

  it(
    "asks the engine alone about a container that does not run, where the last option counts",
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

/** A program of the host that listens at a socket. */
async function listen(path: string): Promise<AsyncDisposable> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(path, resolve));
  return { [Symbol.asyncDispose]: () => new Promise((resolve) => server.close(() => resolve())) };
}
