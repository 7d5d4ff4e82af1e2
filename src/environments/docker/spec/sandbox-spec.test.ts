import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { testHost, testOptions } from "../../../../test/support/docker.ts";
import { tempFolder } from "../../../../test/support/temp-folder.ts";
import type { TerminalOptions } from "../../options.ts";
import { createSandboxSpec, type SandboxHost } from "./sandbox-spec.ts";

const IDENTITY = { profile: "p", profileId: "0123456789abcdef", task: "default" };

async function machine() {
  const temp = await tempFolder();
  const host = testHost(temp.path);
  for (const folder of [host.cwd, host.userHome]) await mkdir(folder);
  return {
    host,
    async create(options: Partial<TerminalOptions>, changes: Partial<SandboxHost> = {}, identity = IDENTITY) {
      const all = { ...host, ...changes };
      const created = await createSandboxSpec(testOptions("image", options), identity, all);
      if (created.refusals[0] !== undefined) throw created.refusals[0];
      return created;
    },
    [Symbol.asyncDispose]: () => temp[Symbol.asyncDispose](),
  };
}

const targetsOf = (mounts: readonly { target: string; kind: string }[]) =>
  mounts.map(({ kind, target }) => `${kind} ${target}`);

describe("createSandboxSpec", () => {
  it("keeps home and workspace in folders of the profile and task, separate from all others", async () => {
    await using here = await machine();
    const { spec } = await here.create({});
    expect(targetsOf(spec.mounts)).toEqual([
      "tmpfs /tmp",
      "tmpfs /var/tmp",
      "tmpfs /run",
      "bind /root",
      "bind /workspace",
    ]);
    const other = await here.create({}, {}, { ...IDENTITY, profileId: "another" });
    const sources = [spec, other.spec].flatMap(({ mounts }) =>
      mounts.flatMap((mount) => (mount.kind === "bind" ? [mount.source] : [])),
    );
    expect(new Set(sources).size).toBe(4);
    expect(
      sources.every((source) => source.startsWith(join(here.host.sandboxesFolder, "docker/default-"))),
    ).toBe(true);
  });

  it("C24: keeps nothing on the host when container_persistent is false", async () => {
    await using here = await machine();
    const { spec } = await here.create({ container_persistent: false });
    expect(spec.mounts.every(({ kind }) => kind === "tmpfs")).toBe(true);
    expect(targetsOf(spec.mounts)).toContain("tmpfs /workspace");
  });

  it("F19: a volume below /workspace does not change the workspace, one at /workspace replaces it", async () => {
    await using here = await machine();
    const data = join(here.host.cwd, "data");
    await mkdir(data);
    const below = await here.create({ docker_volumes: [`${data}:/workspace/x`] });
    expect(targetsOf(below.spec.mounts)).toEqual(
      expect.arrayContaining(["bind /workspace", "bind /workspace/x"]),
    );
    const at = await here.create({
      docker_volumes: [`${data}:/workspace/`],
      docker_mount_cwd_to_workspace: true,
    });
    const workspaces = at.spec.mounts.filter(({ target }) => target === "/workspace");
    expect(workspaces).toMatchObject([{ source: data }]);
  });

  it("mounts the current folder as the workspace, and starts there", async () => {
    await using here = await machine();
    const { spec } = await here.create({ docker_mount_cwd_to_workspace: true });
    expect(spec.mounts.filter(({ target }) => target === "/workspace")).toMatchObject([
      { source: here.host.cwd, isOurs: false },
    ]);
    expect(spec.workingFolder).toBe("/workspace");
  });

  it("F20: refuses to mount the home folder as the current one", async () => {
    await using here = await machine();
    const creating = here.create({ docker_mount_cwd_to_workspace: true }, { cwd: here.host.userHome });
    await expect(creating).rejects.toMatchObject({ code: "sandbox-mount-refused" });
  });

  it("F21: a current folder that no longer exists is an error", async () => {
    await using here = await machine();
    const creating = here.create(
      { docker_mount_cwd_to_workspace: true },
      { cwd: join(here.host.cwd, "gone") },
    );
    await expect(creating).rejects.toMatchObject({ code: "sandbox-mount-refused" });
  });

  it("skips a volume without a colon with a notice, and refuses an invalid one", async () => {
    await using here = await machine();
    const { spec, notices } = await here.create({ docker_volumes: ["data"] });
    expect(spec.mounts).toHaveLength(5);
    expect(notices).toEqual([expect.stringContaining("data was skipped")]);
    await expect(here.create({ docker_volumes: ["/a:b"] })).rejects.toMatchObject({
      code: "sandbox-mount-refused",
    });
  });

  it("refuses two volumes with one target", async () => {
    await using here = await machine();
    const volumes = [`${here.host.cwd}:/x`, "cache:/x/"];
    await expect(here.create({ docker_volumes: volumes })).rejects.toMatchObject({
      code: "sandbox-mount-refused",
    });
  });

  it.each([
    ["-v", "/:/host"],
    ["-v/:/host"],
    ["-itv", "/:/host"],
    ["--volume=/:/host:ro"],
    ["--mount", "type=bind,source=/,target=/host"],
  ])("F20: extra arguments %j do not bypass the refusal", async (...args) => {
    await using here = await machine();
    await expect(here.create({ docker_extra_args: args })).rejects.toMatchObject({
      code: "sandbox-mount-refused",
    });
  });

  it.each([
    [["--network", "host"]],
    [["--network=bridge"]],
    [["--net", "container:x"]],
    [["--network", "none", "--net=host"]],
  ])("network off: extra arguments %j are refused", async (args) => {
    await using here = await machine();
    await expect(here.create({ docker_extra_args: args, docker_network: false })).rejects.toMatchObject({
      code: "sandbox-refused",
      message: expect.stringContaining("docker_network is false"),
    });
    expect(
      (await here.create({ docker_extra_args: args, docker_network: true })).spec.extraArguments,
    ).toEqual(args);
  });

  it.each([
    [["--name", "x"]],
    [["--entrypoint=cat"]],
    [["--rm"]],
    [["--label", "hermes-agent=0"]],
    [["-lhermes-impl=x"]],
  ])("extra arguments %j, which would break the lifecycle of the sandbox, are refused", async (args) => {
    await using here = await machine();
    await expect(here.create({ docker_extra_args: args })).rejects.toMatchObject({ code: "sandbox-refused" });
  });

  it.each([
    ["", "/root", 0],
    ["~", "/root", 0],
    ["~/x", "/root/x", 0],
    ["/srv", "/srv", 0],
    ["/home/me/project", "/root", 1],
    ["/Users/me", "/root", 1],
    ["C:\\work", "/root", 1],
    ["c:/work", "/root", 1],
    ["src", "/root", 1],
    [".", "/root", 1],
  ])("terminal.cwd %j starts in %s", async (cwd, folder, count) => {
    await using here = await machine();
    const { spec, notices } = await here.create({ cwd });
    expect(spec.workingFolder).toBe(folder);
    expect(notices).toHaveLength(count);
  });

  it("runs with the host's user id and a home, or prints a notice where the host has no user ids", async () => {
    await using here = await machine();
    const { spec } = await here.create({ docker_run_as_host_user: true });
    expect(spec.user).toEqual({ uid: 1234, gid: 2345 });
    expect(spec.environment).toEqual({ HOME: "/root" });
    const without = await here.create({ docker_run_as_host_user: true }, { user: undefined });
    expect(without.spec.user).toBeUndefined();
    expect(without.notices).toHaveLength(1);
  });

  it("F31: only forwardedVariables contains the values of forwarded variables", async () => {
    await using here = await machine();
    const names = ["TOKEN", "TOKEN", "UNSET"];
    const findValue = (name: string) => (name === "TOKEN" ? "hunter2-hunter2" : undefined);
    const { spec } = await here.create({ docker_forward_env: names }, { findValue });
    expect(spec.forwardedVariables).toEqual(new Map([["TOKEN", "hunter2-hunter2"]]));
    expect(JSON.stringify(spec)).not.toContain("hunter2");
    const other = await here.create({ docker_forward_env: names }, { findValue: () => "other" });
    expect(other.spec.fingerprint).toBe(spec.fingerprint);
  });

  it("writes literal variables as text", async () => {
    await using here = await machine();
    const { spec } = await here.create({ docker_env: { A: 1, B: true, C: "x=y\nz" } });
    expect(spec.environment).toEqual({ A: "1", B: "true", C: "x=y\nz" });
    await expect(here.create({ docker_env: { A: "a\0b" } })).rejects.toMatchObject({
      code: "sandbox-refused",
    });
  });

  it.each([
    { docker_image: "other" },
    { container_cpu: 2 },
    { container_memory: 1 },
    { container_disk: 1 },
    { docker_pids_limit: 0 },
    { docker_network: true },
    { docker_shm_size: "2g" },
    { docker_runtime: "runsc" },
    { docker_read_only: true },
    { docker_snap_compat: true },
    { docker_run_as_host_user: true },
    { docker_mount_cwd_to_workspace: true },
    { docker_volumes: ["cache:/cache"] },
    { docker_env: { A: "1" } },
    { docker_extra_args: ["--gpus=all"] },
    { container_persistent: false },
    { cwd: "/srv" },
  ] satisfies Partial<TerminalOptions>[])("C16: %j changes the fingerprint", async (change) => {
    await using here = await machine();
    const [before, after] = [await here.create({}), await here.create(change)];
    expect(after.spec.fingerprint).not.toBe(before.spec.fingerprint);
    expect((await here.create({})).spec.fingerprint).toBe(before.spec.fingerprint);
  });

  it("C14: has the same name for all processes in persist mode and a new name each time in opt-out mode", async () => {
    await using here = await machine();
    const names = async (persist: boolean) => {
      const options = { docker_persist_across_processes: persist };
      return [(await here.create(options)).spec.name, (await here.create(options)).spec.name];
    };
    expect(new Set(await names(true)).size).toBe(1);
    expect(new Set(await names(false)).size).toBe(2);
  });

  it("F29: when Hermes runs in a container, the kept folders have the engine's paths", async () => {
    await using here = await machine();
    const [state = ""] = here.host.stateFolders;
    const ownMounts = [{ source: "/srv/hermes", destination: state }];
    const { spec } = await here.create({}, { ownMounts });
    const kept = spec.mounts.filter((mount) => mount.kind === "bind");
    expect(kept).toHaveLength(2);
    expect(kept.every(({ source }) => source.startsWith("/srv/hermes/sandboxes/docker/"))).toBe(true);
    expect(kept.every(({ localSource }) => localSource.startsWith(here.host.sandboxesFolder))).toBe(true);
    await expect(here.create({}, { ownMounts: [] })).rejects.toMatchObject({ code: "sandbox-mount-refused" });
  });
});
