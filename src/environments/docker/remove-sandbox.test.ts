import { readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "vitest";
import { type DockerLab, never, openDockerLab } from "../../../test/support/docker.ts";
import { describeWith } from "../../../test/support/services.ts";
import type { Engine } from "./engine.ts";
import { ensureSandbox } from "./ensure-sandbox.ts";
import { retryPendingRemovals } from "./pending-removals.ts";
import { releaseSandbox } from "./release-sandbox.ts";
import { removeSandbox } from "./remove-sandbox.ts";
import type { SandboxSpec, TerminalOptions } from "./sandbox-spec.ts";

const LONG = { timeout: 600_000 };
const OPT_OUT = { docker_persist_across_processes: false } satisfies Partial<TerminalOptions>;

describeWith("docker", "letting go of a sandbox", (service) => {
  async function make(lab: DockerLab, options: Partial<TerminalOptions> = {}) {
    const spec = await lab.spec(options);
    return { spec, ...(await ensureSandbox(lab.engine, spec, lab.reporter, never)) };
  }
  const release = (
    lab: DockerLab,
    id: string | undefined,
    spec: SandboxSpec,
    force = false,
    engine = lab.engine,
  ) =>
    releaseSandbox(
      engine,
      id,
      spec,
      { force, sandboxesFolder: lab.host.sandboxesFolder, now: 1_000 },
      lab.reporter,
    );
  const retry = (lab: DockerLab, { profileId = lab.profileId, engine = lab.engine, now = 2_000 } = {}) =>
    retryPendingRemovals(lab.host.sandboxesFolder, engine, { profileId, now }, lab.reporter, never);
  const recordOf = async (lab: DockerLab) =>
    JSON.parse(await readFile(join(lab.host.sandboxesFolder, "pending-removals.json"), "utf8")).removals;
  const unable = (lab: DockerLab): Promise<Engine> =>
    lab.wrap("case $1 in stop|rm) echo not now >&2; exit 1;; esac");

  it("C20: in persist mode nothing is asked of the engine, and its processes live on", LONG, async () => {
    await using lab = await openDockerLab(service);
    const { id, spec } = await make(lab);
    await lab.docker("exec", "-d", id, "sleep", "600");
    const calls = join(lab.folder, "calls");
    const counted = await lab.wrap(`echo "$1" >> ${calls}`);
    expect(await release(lab, id, spec, false, counted)).toEqual({ outcome: "kept" });
    await expect(stat(calls)).rejects.toThrow("ENOENT");
    expect(await lab.docker("top", id)).toContain("sleep 600");
  });

  it.each([true, false])(
    "C21: in opt-out mode it is removed, also when its files are kept (%s)",
    LONG,
    async (kept) => {
      await using lab = await openDockerLab(service);
      const { id, spec } = await make(lab, { ...OPT_OUT, container_persistent: kept });
      expect(await release(lab, id, spec)).toEqual({ outcome: "removed" });
      expect(await lab.containers()).toEqual([]);
    },
  );

  it("C22: by force it is removed in persist mode, too", LONG, async () => {
    await using lab = await openDockerLab(service);
    const { id, spec } = await make(lab);
    expect(await release(lab, id, spec, true)).toEqual({ outcome: "removed" });
    expect(await lab.containers()).toEqual([]);
  });

  it("C23: one that cannot be stopped is removed all the same", LONG, async () => {
    await using lab = await openDockerLab(service);
    const { id, spec } = await make(lab, OPT_OUT);
    const engine = await lab.wrap('[ "$1" = stop ] && exit 1');
    expect(await release(lab, id, spec, false, engine)).toEqual({ outcome: "removed" });
    expect(await lab.containers()).toEqual([]);
  });

  it("C24: files that are kept outlive the container", LONG, async () => {
    await using lab = await openDockerLab(service);
    const { id, spec } = await make(lab);
    await lab.docker("exec", id, "sh", "-c", "echo mine > /workspace/file");
    await release(lab, id, spec, true);
    const next = await make(lab);
    expect(next.id).not.toBe(id);
    expect(await lab.docker("exec", next.id, "cat", "/workspace/file")).toBe("mine");
  });

  it("C24: an image's anonymous volumes go with the container", LONG, async () => {
    await using lab = await openDockerLab(service);
    const { id } = await make(lab, { docker_extra_args: ["-v", "/anonymous"] });
    const volume = await lab.inspect(id, '{{range .Mounts}}{{if eq .Type "volume"}}{{.Name}}{{end}}{{end}}');
    expect(volume).toMatch(/^[0-9a-f]{64}$/);
    await removeSandbox(lab.engine, id, never);
    await expect(lab.docker("volume", "inspect", volume)).rejects.toThrow();
  });

  it("C25: without a container there is nothing to do", LONG, async () => {
    await using lab = await openDockerLab(service);
    expect(await release(lab, undefined, await lab.spec(OPT_OUT))).toEqual({ outcome: "already-gone" });
  });

  it("C32: one that is gone already is no failure", LONG, async () => {
    await using lab = await openDockerLab(service);
    const { id, spec } = await make(lab, OPT_OUT);
    await lab.docker("rm", "-f", id);
    expect(await release(lab, id, spec)).toEqual({ outcome: "already-gone" });
    expect(lab.notices).toEqual([]);
  });

  it("removes it once when several do so at the same moment", LONG, async () => {
    await using lab = await openDockerLab(service);
    const { id } = await make(lab);
    const outcomes = await Promise.all([1, 2, 3].map(() => removeSandbox(lab.engine, id, never)));
    expect(outcomes.filter(({ outcome }) => outcome === "failed")).toEqual([]);
    expect(await lab.containers()).toEqual([]);
  });

  it("C56: what could not be removed is written down, and the next process does it", LONG, async () => {
    await using lab = await openDockerLab(service);
    const { id, spec } = await make(lab, OPT_OUT);
    expect(await release(lab, id, spec, false, await unable(lab))).toEqual({
      outcome: "failed",
      reason: "not now",
    });
    expect(lab.notices.join()).toContain("not now");
    expect(await recordOf(lab)).toMatchObject([{ id, profile_id: lab.profileId }]);
    expect((await stat(join(lab.host.sandboxesFolder, "pending-removals.json"))).mode & 0o777).toBe(0o600);

    expect(await retry(lab)).toEqual([id]);
    expect(await lab.containers()).toEqual([]);
    expect(await recordOf(lab)).toEqual([]);
  });

  it("C56: an engine that is away leaves the record for another time", LONG, async () => {
    await using lab = await openDockerLab(service);
    const { id, spec } = await make(lab, OPT_OUT);
    const away = await lab.wrap("exit 1");
    expect(await release(lab, id, spec, false, away)).toMatchObject({ outcome: "failed" });
    await expect(retry(lab, { engine: away })).rejects.toMatchObject({ code: "sandbox-unavailable" });
    expect(await recordOf(lab)).toHaveLength(1);
    expect(await retry(lab, { engine: await unable(lab) })).toEqual([]);
    expect(await recordOf(lab)).toHaveLength(1);
    expect(await retry(lab)).toEqual([id]);
  });

  it("C56: records of other profiles and engines are left alone, and old ones forgotten", LONG, async () => {
    await using lab = await openDockerLab(service);
    const { id, spec } = await make(lab, OPT_OUT);
    await release(lab, id, spec, false, await unable(lab));
    expect(await retry(lab, { profileId: "another" })).toEqual([]);
    const elsewhere = { ...lab.engine, env: { ...lab.engine.env, DOCKER_HOST: "ssh://far" } };
    expect(await retry(lab, { engine: elsewhere })).toEqual([]);
    expect(await recordOf(lab)).toHaveLength(1);
    await retry(lab, { profileId: "another", now: Date.UTC(2026, 1, 1) });
    expect(await recordOf(lab)).toEqual([]);
    expect(await lab.containers()).toEqual([id]);
  });

  it("C56: a record that names a container which is not ours does not remove it", LONG, async () => {
    await using lab = await openDockerLab(service);
    const { id, spec } = await make(lab, OPT_OUT);
    await release(lab, id, spec, false, await unable(lab));
    const foreign = await lab.docker("create", service.images.busybox, "true");
    try {
      const path = join(lab.host.sandboxesFolder, "pending-removals.json");
      await writeFile(path, (await readFile(path, "utf8")).replace(id, foreign));
      await retry(lab);
      expect(await lab.inspect(foreign, "{{.State.Status}}")).toBe("created");
    } finally {
      await lab.docker("rm", "-f", foreign);
    }
  });
});
