import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, it, vi } from "vitest";
import { describeWith } from "../../../../test/support/services.ts";
import { openSnapshotLab } from "../../../../test/support/snapshot-lab.ts";
import { neverAborted } from "../../../lib/time/never-aborted.ts";
import { findContainer } from "../lifecycle/container.ts";
import { ensureSandbox } from "../lifecycle/ensure-sandbox.ts";
import { reclaimSnapshots } from "../snapshots/reclaim-snapshots.ts";
import { snapshotSandbox } from "../snapshots/snapshot-sandbox.ts";
import { requireSnapshot } from "../snapshots/snapshot-store.ts";
import { findDrift } from "../spec/spec-fields.ts";
import { forkSandbox } from "./fork-sandbox.ts";
import { restoreSandbox } from "./restore-sandbox.ts";

vi.setConfig({ testTimeout: 600_000 }); // each test creates several sandboxes

describeWith("docker", "forkSandbox", (service) => {
  it("G10, F68: a fork has the files of its source, and later changes do not affect the other", async () => {
    await using lab = await openSnapshotLab(service);
    const source = await lab.spec();
    const copy = await lab.spec({}, "copy");
    await lab.sh(source, "echo a > /etc/mark; echo b > /workspace/mark; echo c > /tmp/mark; sleep 4711 &");
    const forked = await forkSandbox(lab.engine, { sandbox: source }, copy, lab.options, neverAborted);
    expect(await lab.sh(copy, "cat /etc/mark /workspace/mark /tmp/mark")).toBe("a\nb\nc");
    await lab.sh(copy, "echo copy > /workspace/mark; echo copy > /etc/mark");
    expect(await lab.sh(source, "cat /etc/mark /workspace/mark")).toBe("a\nb");
    await expect.poll(() => lab.top(source.name)).toContain("sleep 4711");
    expect(await lab.top(copy.name)).not.toContain("sleep 4711");
    // A later process finds the fork by its task, and reports no drift.
    const found = await ensureSandbox(lab.engine, await lab.spec({}, "copy"), lab.reporter, neverAborted);
    expect(found).toMatchObject({ id: forked.id, how: "attached", drift: [] });
    expect(lab.notices).toEqual([]);
  });

  it("G10: a fork has the drift of its source, and its image is reported by name and reclaimed with it", async () => {
    await using lab = await openSnapshotLab(service);
    const source = await lab.spec();
    await lab.sh(source, "true");
    const other = { docker_image: "another-image" };
    const copy = await lab.spec(other, "copy");
    await forkSandbox(lab.engine, { sandbox: source }, copy, lab.options, neverAborted);
    const container = await findContainer(lab.engine, copy.name, neverAborted);
    if (container === undefined) throw new Error("the fork does not exist");
    expect(findDrift(container, copy)).toEqual([
      { field: "docker_image", had: service.images.busybox, wants: "another-image" },
    ]);
    expect(findDrift(container, await lab.spec({}, "copy"))).toEqual([]);

    const rules = { ttlSeconds: 0, dryRun: false, now: Date.now() };
    expect((await reclaimSnapshots(lab.engine, lab.store, rules, neverAborted)).rows).toEqual([]);
    expect(await lab.images()).toHaveLength(1);
    await lab.docker("rm", "-f", copy.name);
    expect((await reclaimSnapshots(lab.engine, lab.store, rules, neverAborted)).rows).toMatchObject([
      { state: "image", action: "removed" },
    ]);
    expect(await lab.images()).toEqual([]);
  });

  it("G10: two concurrent forks of one source both succeed; of two into one task only one succeeds", async () => {
    await using lab = await openSnapshotLab(service);
    const source = await lab.spec();
    await lab.sh(source, "echo a > /workspace/mark");
    const fork = async (task: string) =>
      forkSandbox(lab.engine, { sandbox: source }, await lab.spec({}, task), lab.options, neverAborted);
    const [one, two, ...same] = await Promise.allSettled([
      fork("one"),
      fork("two"),
      fork("same"),
      fork("same"),
    ]);
    expect([one?.status, two?.status]).toEqual(["fulfilled", "fulfilled"]);
    expect(same.map(({ status }) => status).toSorted()).toEqual(["fulfilled", "rejected"]);
    expect(same.find(({ status }) => status === "rejected")).toMatchObject({
      reason: { code: "sandbox-exists" },
    });
    for (const task of ["one", "two", "same"]) {
      expect(await lab.sh(await lab.spec({}, task), "cat /workspace/mark")).toBe("a");
    }
    expect(await lab.containers()).toHaveLength(4);
    expect(await lab.images()).toHaveLength(3);
  });

  it("G10: files of an earlier sandbox of the new task are moved aside, not lost", async () => {
    await using lab = await openSnapshotLab(service);
    const copy = await lab.spec({}, "copy");
    await lab.sh(copy, "echo mine > /workspace/mine");
    await lab.docker("rm", "-f", copy.name);
    const source = await lab.spec();
    await lab.sh(source, "true");
    await forkSandbox(lab.engine, { sandbox: source }, copy, lab.options, neverAborted);
    expect(await lab.sh(copy, "ls /workspace")).toBe("");
    expect(lab.notices).toEqual([expect.stringContaining("earlier sandbox")]);
  });

  it("G10: a failed fork leaves neither container nor image nor folder, and can be retried", async () => {
    await using lab = await openSnapshotLab(service);
    const source = await lab.spec();
    const copy = await lab.spec({}, "copy");
    await lab.sh(source, "echo a > /workspace/mark");
    const engine = await lab.wrap('case "$1" in rename) echo "no" >&2; exit 1;; esac');
    await expect(
      forkSandbox(engine, { sandbox: source }, copy, lab.options, neverAborted),
    ).rejects.toMatchObject({
      code: "sandbox-unavailable",
    });
    expect(await lab.containers()).toHaveLength(1);
    expect(await lab.images()).toEqual([]);
    await forkSandbox(lab.engine, { sandbox: source }, copy, lab.options, neverAborted);
    expect(lab.notices).toEqual([]); // no earlier folders had to be moved aside
  });
});

describeWith("docker", "restoreSandbox", (service) => {
  it("G8: restores the files and saves the old ones as a snapshot; after a failure the old sandbox is unchanged", async () => {
    await using lab = await openSnapshotLab(service);
    const spec = await lab.spec();
    await lab.sh(spec, "echo old > /etc/mark; echo old > /workspace/mark");
    const snapshot = await snapshotSandbox(lab.engine, spec, lab.options, neverAborted);
    await lab.sh(spec, "echo new > /etc/mark; echo new > /workspace/mark");
    const options = { ...lab.options, force: false };

    const engine = await lab.wrap('case "$1" in create|run) echo "no" >&2; exit 1;; esac');
    const { id } = await ensureSandbox(lab.engine, spec, lab.reporter, neverAborted);
    await expect(restoreSandbox(engine, snapshot, spec, options, neverAborted)).rejects.toMatchObject({
      code: "sandbox-unavailable",
    });
    expect(await ensureSandbox(lab.engine, spec, lab.reporter, neverAborted)).toMatchObject({
      id,
      how: "attached",
    });
    expect(await lab.sh(spec, "cat /etc/mark /workspace/mark")).toBe("new\nnew");
    expect(await lab.containers()).toHaveLength(1);

    const { previousSnapshotId = "" } = await restoreSandbox(
      lab.engine,
      snapshot,
      spec,
      options,
      neverAborted,
    );
    expect(await lab.sh(spec, "cat /etc/mark /workspace/mark")).toBe("old\nold");
    const kept = await requireSnapshot(lab.store, previousSnapshotId);
    await restoreSandbox(lab.engine, kept, spec, options, neverAborted);
    expect(await lab.sh(spec, "cat /etc/mark /workspace/mark")).toBe("new\nnew");
    expect(await lab.containers()).toHaveLength(1);
    expect(lab.notices).toEqual([]);

    // Without a container there is nothing to take a snapshot of, so the files on the host are moved aside.
    await lab.docker("rm", "-f", spec.name);
    expect(await restoreSandbox(lab.engine, snapshot, spec, options, neverAborted)).toMatchObject({
      previousSnapshotId: undefined,
    });
    expect(await lab.sh(spec, "cat /workspace/mark")).toBe("old");
    const [notice = ""] = lab.notices;
    expect(notice).toMatch(/^Files of an earlier sandbox of this task were moved to \//);
    const [aside = ""] = /\/\S+\.aside-[a-z0-9-]+/.exec(notice) ?? [];
    expect(await readFile(join(aside, "workspace/mark"), "utf8")).toBe("new\n");
  });
});
