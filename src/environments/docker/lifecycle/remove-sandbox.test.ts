import { readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "vitest";
import { type DockerLab, openDockerLab } from "../../../../test/support/docker.ts";
import { describeWith } from "../../../../test/support/services.ts";
import { neverAborted } from "../../../lib/time/never-aborted.ts";
import type { TerminalOptions } from "../../options.ts";
import type { Engine } from "../engine/engine.ts";
import { retryPendingRemovals } from "../reclaim/pending-removals.ts";
import type { SandboxSpec } from "../spec/sandbox-spec.ts";
import { ensureSandbox } from "./ensure-sandbox.ts";
import { releaseSandbox } from "./release-sandbox.ts";
import { removeSandbox } from "./remove-sandbox.ts";

const LONG = { timeout: 600_000 };
const OPT_OUT = { docker_persist_across_processes: false } satisfies Partial<TerminalOptions>;

describeWith("docker", "releasing a sandbox", (service) => {
  async function create(lab: DockerLab, options: Partial<TerminalOptions> = {}) {
    const spec = await lab.spec(options);
    return { spec, ...(await ensureSandbox(lab.engine, spec, lab.reporter, neverAborted)) };
  }
  const release = (
    lab: DockerLab,
    id: string | undefined,
    spec: SandboxSpec,
    force = false,
    engine = lab.engine,
  ) => releaseSandbox(engine, id, spec, force, lab.reporter);
  const retry = (lab: DockerLab, { profileId = lab.profileId, engine = lab.engine, now = 2_000 } = {}) =>
    retryPendingRemovals(lab.host.sandboxesFolder, engine, { profileId, now }, lab.reporter, neverAborted);
  const recordOf = async (lab: DockerLab) =>
    JSON.parse(await readFile(join(lab.host.sandboxesFolder, "pending-removals.json"), "utf8")).removals;
  const unableToRemove = (lab: DockerLab): Promise<Engine> =>
    lab.wrap("case $1 in stop|rm) echo not now >&2; exit 1;; esac");

  it("C20: in persist mode the engine is not called, and the sandbox's processes survive", LONG, async () => {
    await using lab = await openDockerLab(service);
    const { id, spec } = await create(lab);
    await lab.startIn(id, "sleep", "600");
    const calls = join(lab.folder, "calls");
    const counted = await lab.wrap(`echo "$1" >> ${calls}`);
    expect(await release(lab, id, spec, false, counted)).toEqual({ outcome: "kept" });
    await expect(stat(calls)).rejects.toThrow("ENOENT");
    await expect.poll(() => lab.top(id)).toContain("sleep 600");
  });

  it.each([true, false])(
    "C21: in opt-out mode the sandbox is removed, whether or not its files are kept (%s)",
    LONG,
    async (kept) => {
      await using lab = await openDockerLab(service);
      const { id, spec } = await create(lab, { ...OPT_OUT, container_persistent: kept });
      expect(await release(lab, id, spec)).toEqual({ outcome: "removed" });
      expect(await lab.containers()).toEqual([]);
    },
  );

  it("C22: with force the sandbox is removed in persist mode too", LONG, async () => {
    await using lab = await openDockerLab(service);
    const { id, spec } = await create(lab);
    expect(await release(lab, id, spec, true)).toEqual({ outcome: "removed" });
    expect(await lab.containers()).toEqual([]);
  });

  it("C23: a sandbox that cannot be stopped is removed anyway", LONG, async () => {
    await using lab = await openDockerLab(service);
    const { id, spec } = await create(lab, OPT_OUT);
    const engine = await lab.wrap('[ "$1" = stop ] && exit 1');
    expect(await release(lab, id, spec, false, engine)).toEqual({ outcome: "removed" });
    expect(await lab.containers()).toEqual([]);
  });

  it("C24: kept files survive the removal of the container", LONG, async () => {
    await using lab = await openDockerLab(service);
    const { id, spec } = await create(lab);
    await lab.docker("exec", id, "sh", "-c", "echo mine > /workspace/file");
    await release(lab, id, spec, true);
    const next = await create(lab);
    expect(next.id).not.toBe(id);
    expect(await lab.docker("exec", next.id, "cat", "/workspace/file")).toBe("mine");
  });

  it("C24: an image's anonymous volumes are removed with the container", LONG, async () => {
    await using lab = await openDockerLab(service);
    const { id } = await create(lab, { docker_extra_args: ["-v", "/anonymous"] });
    const volume = await lab.inspect(id, '{{range .Mounts}}{{if eq .Type "volume"}}{{.Name}}{{end}}{{end}}');
    expect(volume).toMatch(/^[0-9a-f]{64}$/);
    await removeSandbox(lab.engine, id, neverAborted);
    await expect(lab.docker("volume", "inspect", volume)).rejects.toThrow();
  });

  it("C25: without a container there is nothing to do", LONG, async () => {
    await using lab = await openDockerLab(service);
    expect(await release(lab, undefined, await lab.spec(OPT_OUT))).toEqual({ outcome: "already-gone" });
  });

  it("C32: removing a container that no longer exists is not a failure", LONG, async () => {
    await using lab = await openDockerLab(service);
    const { id, spec } = await create(lab, OPT_OUT);
    await lab.docker("rm", "-f", id);
    expect(await release(lab, id, spec)).toEqual({ outcome: "already-gone" });
    expect(lab.notices).toEqual([]);
  });

  it("succeeds for every process when several remove the same sandbox at once", LONG, async () => {
    await using lab = await openDockerLab(service);
    const { id } = await create(lab);
    const outcomes = await Promise.all([1, 2, 3].map(() => removeSandbox(lab.engine, id, neverAborted)));
    expect(outcomes.filter(({ outcome }) => outcome === "failed")).toEqual([]);
    expect(await lab.containers()).toEqual([]);
  });

  it("C56: a failed removal is recorded, and the next process retries it", LONG, async () => {
    await using lab = await openDockerLab(service);
    const { id, spec } = await create(lab, OPT_OUT);
    expect(await release(lab, id, spec, false, await unableToRemove(lab))).toEqual({
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

  it("C56: the record is kept while the engine does not answer", LONG, async () => {
    await using lab = await openDockerLab(service);
    const { id, spec } = await create(lab, OPT_OUT);
    const unreachable = await lab.wrap("exit 1");
    expect(await release(lab, id, spec, false, unreachable)).toMatchObject({ outcome: "failed" });
    await expect(retry(lab, { engine: unreachable })).rejects.toMatchObject({ code: "sandbox-unavailable" });
    expect(await recordOf(lab)).toHaveLength(1);
    expect(await retry(lab, { engine: await unableToRemove(lab) })).toEqual([]);
    expect(await recordOf(lab)).toHaveLength(1);
    expect(await retry(lab)).toEqual([id]);
  });

  it("C56: records of other profiles and engines are kept, and old records are deleted", LONG, async () => {
    await using lab = await openDockerLab(service);
    const { id, spec } = await create(lab, OPT_OUT);
    await release(lab, id, spec, false, await unableToRemove(lab));
    expect(await retry(lab, { profileId: "another" })).toEqual([]);
    const elsewhere = { ...lab.engine, env: { ...lab.engine.env, DOCKER_HOST: "ssh://far" } };
    expect(await retry(lab, { engine: elsewhere })).toEqual([]);
    expect(await recordOf(lab)).toHaveLength(1);
    await retry(lab, { profileId: "another", now: Date.now() + 31 * 24 * 3_600_000 });
    expect(await recordOf(lab)).toEqual([]);
    expect(await lab.containers()).toEqual([id]);
  });

  it("C56: a record never removes a container of another program", LONG, async () => {
    await using lab = await openDockerLab(service);
    const { id, spec } = await create(lab, OPT_OUT);
    await release(lab, id, spec, false, await unableToRemove(lab));
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
