import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "vitest";
import { type DockerLab, openDockerLab } from "../../../../test/support/docker.ts";
import { describeWith } from "../../../../test/support/services.ts";
import { neverAborted } from "../../../lib/time/never-aborted.ts";
import type { SandboxSpec } from "../spec/sandbox-spec.ts";
import { ensureSandbox } from "./ensure-sandbox.ts";

const LONG = { timeout: 600_000 };

describeWith("docker", "creating a sandbox", (service) => {
  const ensure = (lab: DockerLab, spec: SandboxSpec, engine = lab.engine) =>
    ensureSandbox(engine, spec, lab.reporter, neverAborted);

  /** The real engine, except that a container whose arguments contain one of these words cannot be started. */
  const engineRefusing = (lab: DockerLab, ...words: readonly string[]) =>
    lab.wrap(`
      refused() { case " $* " in ${words.map((word) => `*" ${word} "*`).join("|")}) return 0;; esac; return 1; }
      case $1 in
        create) refused "$@" && touch ${lab.folder}/refused || rm -f ${lab.folder}/refused;;
        start) [ -e ${lab.folder}/refused ] && { echo cgroup trouble >&2; exit 1; };;
        run) echo "$@" >> ${lab.folder}/probes; refused "$@" && exit 126;;
      esac`);

  it("F14: omits exactly the limits that the engine refuses, and prints one notice", LONG, async () => {
    await using lab = await openDockerLab(service);
    const engine = await engineRefusing(lab, "--memory", "--pids-limit");
    const { id } = await ensure(lab, await lab.spec({}, "one"), engine);
    const limits = "{{.HostConfig.NanoCpus}} {{.HostConfig.Memory}} {{.HostConfig.PidsLimit}}";
    expect(await lab.inspect(id, limits)).toBe("1000000000 0 <no value>");
    expect(lab.notices).toEqual([
      expect.stringContaining("terminal.container_memory is not applied"),
      expect.stringContaining("terminal.docker_pids_limit is not applied"),
    ]);
    const probes = await readFile(join(lab.folder, "probes"), "utf8");
    expect(probes).toContain(service.images.busybox);

    await ensure(lab, await lab.spec({}, "two"), engine);
    expect(lab.notices).toHaveLength(2);
    expect(await readFile(join(lab.folder, "probes"), "utf8")).toBe(probes);
  });

  it(
    "F15, F71: starts without init and no-new-privileges where the engine refuses them, warns, and leaves no probe container behind",
    LONG,
    async () => {
      await using lab = await openDockerLab(service);
      const engine = await engineRefusing(lab, "--init", "no-new-privileges");
      const { id } = await ensure(lab, await lab.spec(), engine);
      expect(await lab.inspect(id, "{{.HostConfig.Init}} {{.HostConfig.SecurityOpt}}")).toBe("<nil> []");
      expect(lab.notices.join()).toContain("weaker than it should be");
      expect(await lab.containers()).toEqual([id]);
    },
  );

  it("F71: does not probe after a success", LONG, async () => {
    await using lab = await openDockerLab(service);
    const calls = join(lab.folder, "calls");
    await ensure(lab, await lab.spec(), await lab.wrap(`echo "$1" >> ${calls}`));
    expect((await readFile(calls, "utf8")).split("\n")).not.toContain("run");
  });

  it(
    "limits a CPU count above that of the engine to all of its CPUs, and prints a notice",
    LONG,
    async () => {
      await using lab = await openDockerLab(service);
      await ensure(lab, await lab.spec({ container_cpu: 10_000 }));
      expect(lab.notices).toEqual([
        expect.stringContaining("terminal.container_cpu is 10000, but the engine"),
      ]);
    },
  );

  it("reports that a disk limit is not applied where the storage does not support one", LONG, async () => {
    await using lab = await openDockerLab(service);
    const ext = await lab.wrap(
      `[ "$1" = info ] && { real "$@" | sed 's/"Backing Filesystem","[a-z]*"/"Backing Filesystem","extfs"/'; exit; }`,
    );
    const { id } = await ensure(lab, await lab.spec({ container_disk: 100 }), ext);
    expect(lab.notices).toEqual([
      "terminal.container_disk is not applied: overlay2 on extfs cannot limit it to 100 MB.",
    ]);
    expect(await lab.inspect(id, "{{.HostConfig.StorageOpt}}")).toBe("map[]");
  });

  it(
    "tries a disk limit where the storage may support one, and omits the limit when it is refused",
    LONG,
    async () => {
      await using lab = await openDockerLab(service);
      // As on xfs without project quotas.
      const xfs = await lab.wrap(`
      [ "$1" = info ] && { real "$@" | sed 's/"Backing Filesystem","[a-z]*"/"Backing Filesystem","xfs"/'; exit; }
      case " $* " in *" --storage-opt size="*) echo no quota >&2; exit 1;; esac`);
      await ensure(lab, await lab.spec({ container_disk: 100 }), xfs);
      expect(lab.notices).toEqual([
        "terminal.container_disk is not applied: the engine refuses --storage-opt size=100m.",
      ]);
    },
  );

  it("F69: a runtime that the engine does not have is refused, and the error names it", LONG, async () => {
    await using lab = await openDockerLab(service);
    await expect(ensure(lab, await lab.spec({ docker_runtime: "runsc" }))).rejects.toMatchObject({
      code: "sandbox-refused",
      message: expect.stringContaining("runsc"),
      hint: expect.stringContaining("runc"),
    });
    const { id } = await ensure(lab, await lab.spec({ docker_runtime: "runc" }));
    expect(await lab.inspect(id, "{{.HostConfig.Runtime}}")).toBe("runc");
  });

  it("F69: a read-only root refuses files, the writable mounts accept them", LONG, async () => {
    await using lab = await openDockerLab(service);
    const { id } = await ensure(lab, await lab.spec({ docker_read_only: true }));
    const script =
      "for folder in /etc /tmp /run /var/tmp /root /workspace; do touch $folder/x 2>&- && echo $folder; done; true";
    expect(await lab.docker("exec", id, "sh", "-c", script)).toBe("/tmp\n/run\n/var/tmp\n/root\n/workspace");
  });

  it("F16: recognises an image with the s6 supervisor by its entrypoint", LONG, async () => {
    await using lab = await openDockerLab(service);
    const image = `hermes-test-s6-${lab.profileId}`;
    const template = await lab.docker("create", "--entrypoint", "/init", service.images.busybox);
    try {
      await lab.docker("commit", template, image);
      const { id } = await ensure(lab, await lab.spec({ docker_image: image }));
      expect(await lab.inspect(id, '{{.HostConfig.Init}} {{index .HostConfig.Tmpfs "/run"}}')).toBe(
        "<nil> rw,exec,nosuid,size=64m",
      );
    } finally {
      for (const id of await lab.containers()) await lab.docker("rm", "-f", id);
      await lab.docker("rm", "-f", template);
      await lab.docker("rmi", "-f", image);
    }
  });

  it("F70: pulls a missing image in a separate step, with progress", LONG, async () => {
    await using lab = await openDockerLab(service);
    const image = `hermes-test-pulled-${lab.profileId}:latest`;
    const registry = await lab.wrap(`
      [ "$1" = pull ] && { echo layer: downloading; real tag ${service.images.busybox} "$2"; echo layer: done; exit; }`);
    try {
      const { how } = await ensure(lab, await lab.spec({ docker_image: image }), registry);
      expect(how).toBe("created");
      expect(lab.progress).toEqual([expect.stringContaining(image), "layer: downloading", "layer: done"]);
    } finally {
      await lab.docker("rmi", "-f", image);
    }
  });

  it("F70: an image that cannot be pulled is an error with the engine's reason", LONG, async () => {
    await using lab = await openDockerLab(service);
    const registry = await lab.wrap('[ "$1" = pull ] && { echo manifest unknown >&2; exit 1; }');
    await expect(
      ensure(lab, await lab.spec({ docker_image: "hermes-test-none" }), registry),
    ).rejects.toMatchObject({
      code: "sandbox-image-missing",
      message: expect.stringContaining("manifest unknown"),
    });
    expect(await lab.containers()).toEqual([]);
  });

  it("F70: pulling has its own deadline", LONG, async () => {
    await using lab = await openDockerLab(service);
    const slow = await lab.wrap('[ "$1" = pull ] && exec sleep 600');
    const spec = await lab.spec({ docker_image: "hermes-test-none", docker_pull_timeout_seconds: 1 });
    await expect(ensure(lab, spec, slow)).rejects.toMatchObject({
      code: "sandbox-image-missing",
      hint: expect.stringContaining("docker_pull_timeout_seconds"),
    });
  });

  it(
    "an image without a shell is an error that names the requirement, and leaves no container",
    LONG,
    async () => {
      await using lab = await openDockerLab(service);
      const spec = await lab.spec({ docker_extra_args: ["--tmpfs", "/bin"] });
      await expect(ensure(lab, spec)).rejects.toMatchObject({
        code: "sandbox-unavailable",
        hint: expect.stringContaining("`sh`"),
      });
      expect(await lab.containers()).toEqual([]);
    },
  );

  it("F31: values of docker_env reach the sandbox, but not the arguments of any call", LONG, async () => {
    await using lab = await openDockerLab(service);
    const calls = join(lab.folder, "calls");
    const engine = await lab.wrap(`echo "$@" >> ${calls}`);
    const values = {
      PLAIN: "value-one",
      HOME: "/value-two",
      DOCKER_HOST: "value-three",
      TEXT: "value\nfour",
    };
    const { id } = await ensure(lab, await lab.spec({ docker_env: values }), engine);
    const variables = await lab.docker("exec", id, "env");
    for (const [name, value] of Object.entries(values)) expect(variables).toContain(`${name}=${value}`);
    const logged = await readFile(calls, "utf8");
    expect(logged).toContain("--env PLAIN");
    expect(logged).not.toContain("value");
  });

  it("F31: a forwarded value is in no argument, no description and no file of the host", LONG, async () => {
    await using lab = await openDockerLab(service);
    const secret = `secret-${lab.profileId}`;
    const calls = join(lab.folder, "calls");
    const engine = await lab.wrap(`echo "$@" >> ${calls}; env >> ${calls}`);
    Object.assign(lab.host, { findValue: () => secret });
    const spec = await lab.spec({ docker_forward_env: ["TOKEN"] });
    const { id } = await ensure(lab, spec, engine);
    expect(spec.forwardedVariables.get("TOKEN")).toBe(secret);
    expect(await readFile(calls, "utf8")).not.toContain(secret);
    expect(await lab.docker("inspect", id)).not.toContain(secret);
    expect(await lab.docker("exec", id, "env")).not.toContain(secret);
  });

  it("runs as the host's user, in a home where that user can write", LONG, async () => {
    await using lab = await openDockerLab(service);
    const { id } = await ensure(
      lab,
      await lab.spec({ docker_run_as_host_user: true, container_persistent: false }),
    );
    expect(await lab.docker("exec", id, "sh", "-c", "id -u; id -g; cd && pwd && touch file")).toBe(
      "1234\n2345\n/root",
    );
  });

  it("F21: mounts the configured volumes, read-only where requested", LONG, async () => {
    await using lab = await openDockerLab(service);
    const { id } = await ensure(lab, await lab.spec({ docker_volumes: [`${lab.host.cwd}:/data:ro`] }));
    await expect(lab.docker("exec", id, "touch", "/data/x")).rejects.toThrow("Read-only");
    await lab.docker("exec", id, "touch", "/workspace/x");
  });
});
