import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "vitest";
import { type DockerLab, openDockerLab } from "../../../../test/support/docker.ts";
import { describeWith } from "../../../../test/support/services.ts";
import { neverAborted } from "../../../lib/time/never-aborted.ts";
import { loadManifests } from "../snapshots/snapshot-store.ts";
import type { SandboxSpec } from "../spec/sandbox-spec.ts";
import { ensureSandbox } from "./ensure-sandbox.ts";

const LONG = { timeout: 600_000 };

describeWith("docker", "ensureSandbox when something fails", (service) => {
  const ensure = (lab: DockerLab, spec: SandboxSpec, engine = lab.engine) =>
    ensureSandbox(engine, spec, lab.reporter, neverAborted);

  it(
    "C11: a sandbox that cannot be started is an error, and keeps its name and its files",
    LONG,
    async () => {
      await using lab = await openDockerLab(service);
      const spec = await lab.spec();
      const { id, name } = await ensure(lab, spec);
      await lab.docker("stop", id);
      const engine = await lab.wrap(`[ "$1 $2" = "start ${id}" ] && { echo broken >&2; exit 1; }`);
      await expect(ensure(lab, spec, engine)).rejects.toMatchObject({
        code: "sandbox-unavailable",
        message: expect.stringContaining("cannot be started: broken"),
      });
      expect(await lab.containers()).toEqual([id]);
      expect(await lab.inspect(id, "{{.Name}}")).toBe(`/${name}`);
      expect(await ensure(lab, spec)).toMatchObject({ id, how: "started" });
    },
  );

  it(
    "C11, C53: in `replace` mode a sandbox that cannot be started is saved, replaced and removed",
    LONG,
    async () => {
      await using lab = await openDockerLab(service);
      const spec = await lab.spec({ docker_on_drift: "replace" });
      const { id } = await ensure(lab, spec);
      await lab.docker("exec", id, "touch", "/etc/mark");
      await lab.docker("stop", id);
      const engine = await lab.wrap(`[ "$1 $2" = "start ${id}" ] && { echo broken >&2; exit 1; }`);
      const sandbox = await ensure(lab, spec, engine);
      expect(sandbox.how).toBe("replaced");
      expect(await lab.containers()).toEqual([sandbox.id]);
      expect(lab.notices.join()).toContain("cannot be started: broken");
      const [snapshot] = await loadManifests(spec);
      expect(lab.notices.join()).toContain(`hermes sandbox restore ${snapshot?.id}`);
      expect(await lab.docker("run", "--rm", "--entrypoint", "ls", snapshot?.image ?? "", "/etc/mark")).toBe(
        "/etc/mark",
      );
    },
  );

  it(
    "C53: when the replacement cannot be created either, the old sandbox keeps its name and its files",
    LONG,
    async () => {
      await using lab = await openDockerLab(service);
      const spec = await lab.spec({ docker_on_drift: "replace" });
      const { id, name } = await ensure(lab, spec);
      await lab.docker("stop", id);
      const engine = await lab.wrap("case $1 in start|run) echo broken >&2; exit 1;; esac");
      await expect(ensure(lab, spec, engine)).rejects.toMatchObject({ code: "sandbox-unavailable" });
      expect(await lab.containers()).toEqual([id]);
      expect(await lab.inspect(id, "{{.Name}}")).toBe(`/${name}`);
    },
  );

  it(
    "C12: garbled output of the engine is an error and does not lead to a second container",
    LONG,
    async () => {
      await using lab = await openDockerLab(service);
      const spec = await lab.spec();
      await ensure(lab, spec);
      const garbled = await lab.wrap('[ "$1" = container ] && { echo "{]"; exit 0; }');
      await expect(ensure(lab, spec, garbled)).rejects.toMatchObject({ code: "sandbox-unavailable" });
      expect(await lab.containers()).toHaveLength(1);
    },
  );

  it("C19: a start that fails leaves no container behind", LONG, async () => {
    await using lab = await openDockerLab(service);
    const engine = await lab.wrap("case $1 in start|run) echo no room >&2; exit 1;; esac");
    await expect(ensure(lab, await lab.spec(), engine)).rejects.toMatchObject({
      code: "sandbox-unavailable",
      message: expect.stringContaining("no room"),
    });
    expect(await lab.containers()).toEqual([]);
  });

  it("C55: a container that cannot run commands is an error and is removed", LONG, async () => {
    await using lab = await openDockerLab(service);
    const engine = await lab.wrap('[ "$1" = exec ] && { echo cannot fork >&2; exit 1; }');
    await expect(ensure(lab, await lab.spec(), engine)).rejects.toMatchObject({
      message: expect.stringContaining("cannot run commands: cannot fork"),
    });
    expect(await lab.containers()).toEqual([]);
  });

  it(
    "F29: a mount that shows other files than ours is an error, and the sandbox is removed",
    LONG,
    async () => {
      await using lab = await openDockerLab(service);
      await writeFile(join(lab.host.cwd, "witness"), "");
      const spec = await lab.spec({ docker_mount_cwd_to_workspace: true });
      // A remote engine: it has a folder of that name, but without our files.
      const elsewhere = await lab.wrap(`
      [ "$1" = create ] && {
        mkdir -p ${lab.folder}/elsewhere
        for word; do
          shift
          set -- "$@" "$(printf %s "$word" | sed 's#source=${lab.host.cwd}#source=${lab.folder}/elsewhere#')"
        done
      }`);
      await expect(ensure(lab, spec, elsewhere)).rejects.toMatchObject({
        code: "sandbox-mount-refused",
        message: expect.stringContaining(lab.host.cwd),
      });
      expect(await lab.containers()).toEqual([]);
      expect(await ensure(lab, spec)).toMatchObject({ how: "created" });
    },
  );
});
