import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { startChild } from "../../../../test/support/child.ts";
import { scale } from "../../../../test/support/scale.ts";
import { describeWith } from "../../../../test/support/services.ts";
import { openSnapshotLab, type SnapshotLab } from "../../../../test/support/snapshot-lab.ts";
import { listNames } from "../../../lib/files/unless-missing.ts";
import { neverAborted } from "../../../lib/time/never-aborted.ts";
import { findContainer } from "../lifecycle/container.ts";
import { beginOperation } from "../recovery/operation.ts";
import { forkSandbox } from "../restore/fork-sandbox.ts";
import { sandboxKey } from "../spec/sandbox-names.ts";
import { listSnapshots } from "./list-snapshots.ts";
import { pruneSnapshots } from "./prune-snapshots.ts";
import { reclaimSnapshots } from "./reclaim-snapshots.ts";
import { snapshotSandbox } from "./snapshot-sandbox.ts";
import { snapshotsFolder } from "./snapshot-store.ts";

vi.setConfig({ testTimeout: 600_000 }); // each test creates several sandboxes

const CHILD = new URL("../../../../test/support/snapshot-child.ts", import.meta.url);
const rules = { ttlSeconds: 0, dryRun: false };
const DAY_MS = 86_400_000;

describeWith("docker", "recovery after a killed process", (service) => {
  const killAt = async (lab: SnapshotLab, role: string, at: string, when: "before" | "after") => {
    await using child = startChild(CHILD, role, {
      binary: service.client,
      dockerHost: service.host,
      profileId: lab.profileId,
      folder: lab.folder,
      image: service.images.busybox,
      at,
      when,
    });
    expect(await child.ended).toBe("SIGKILL");
  };
  /** One lab for all steps of an operation, because each step restores its state. */
  const sharedLab = (): (() => SnapshotLab) => {
    let lab: SnapshotLab;
    beforeAll(async () => {
      lab = await openSnapshotLab(service);
    });
    afterAll(() => lab[Symbol.asyncDispose]());
    return () => lab;
  };
  const work = (lab: SnapshotLab) => listNames(join(snapshotsFolder(lab.store), "work"));

  describe("snapshot", () => {
    const shared = sharedLab();
    it.each(
      scale.killSteps([
        ["pause", "after"],
        ["commit", "after"],
        ["commit", "before"],
      ] as const),
    )(
      "G8: killed at %s (%s) leaves no snapshot, gc cleans up, and the sandbox keeps running",
      async (at, when) => {
        const lab = shared();
        const spec = await lab.spec();
        await lab.sh(spec, "echo a > /workspace/mark");
        await killAt(lab, "snapshot", at, when);
        expect(await listSnapshots(lab.engine, lab.store, neverAborted)).toEqual([]);
        const now = Date.now();
        const dry = await reclaimSnapshots(
          lab.engine,
          lab.store,
          { ...rules, dryRun: true, now },
          neverAborted,
        );
        expect(dry.rows).toMatchObject([{ state: "unfinished", action: "removed" }]);
        expect(await work(lab)).toHaveLength(1);
        await expect
          .poll(async () => (await findContainer(lab.engine, spec.name, neverAborted))?.state, {
            timeout: 150_000,
          })
          .toBe("running");
        const { rows } = await reclaimSnapshots(lab.engine, lab.store, { ...rules, now }, neverAborted);
        expect(rows).toMatchObject([{ state: "unfinished", action: "removed" }]);
        expect(await lab.images()).toEqual([]);
        expect(await work(lab)).toEqual([]);
        expect(await lab.sh(spec, "cat /workspace/mark")).toBe("a");
      },
    );
  });

  it("G8: unpauses a sandbox whose snapshot process died before it unpaused it, but not a sandbox that the user paused", async () => {
    await using lab = await openSnapshotLab(service);
    const spec = await lab.spec();
    await lab.sh(spec, "true");
    const found = await findContainer(lab.engine, spec.name, neverAborted);
    const state = async () => (await findContainer(lab.engine, spec.name, neverAborted))?.state;
    const recover = () =>
      reclaimSnapshots(lab.engine, lab.store, { ...rules, now: Date.now() }, neverAborted);
    const key = sandboxKey(spec.profileId, spec.task);
    for (const [id, frozen, after] of [
      ["by-person", undefined, "paused"],
      ["by-us", { container: found?.id ?? "", task: spec.task }, "running"],
    ] as const) {
      const operation = await beginOperation(
        lab.store,
        id,
        { kind: "snapshot", task: spec.task, key },
        neverAborted,
      );
      await operation.note({ frozen });
      const record = join(operation.folder, "operation.json");
      const { owner, ...rest } = JSON.parse(await readFile(record, "utf8"));
      const dead = JSON.stringify({ ...JSON.parse(owner), startTime: "1" });
      await writeFile(record, JSON.stringify({ ...rest, owner: dead }));
      if ((await state()) === "running") await lab.docker("pause", spec.name);
      expect((await recover()).rows).toMatchObject([{ state: "unfinished", action: "removed" }]);
      expect(await state(), id).toBe(after);
    }
  });

  describe("fork", () => {
    const shared = sharedLab();
    it.each(
      scale.killSteps([
        ["create", "after"],
        ["rename", "before"],
        ["commit", "after"],
        ["create", "before"],
        ["start", "after"],
      ] as const),
    )(
      "G10: killed at %s (%s) leaves the task without a sandbox, and gc removes everything",
      async (at, when) => {
        const lab = shared();
        const source = await lab.spec();
        const copy = await lab.spec({}, "copy");
        await lab.sh(source, "echo a > /workspace/mark; echo b > /tmp/mark");
        await killAt(lab, "fork", at, when);
        expect(await findContainer(lab.engine, copy.name, neverAborted)).toBeUndefined();
        const { rows } = await reclaimSnapshots(
          lab.engine,
          lab.store,
          { ...rules, now: Date.now() },
          neverAborted,
        );
        expect(rows).toMatchObject([{ state: "unfinished", action: "removed" }]);
        expect(await lab.containers()).toHaveLength(1);
        expect(await lab.images()).toEqual([]);
        expect(await work(lab)).toEqual([]);
        expect(await listNames(join(lab.host.sandboxesFolder, "docker"))).toHaveLength(1);
      },
    );

    it("G10: a fork succeeds after the killed forks", async () => {
      const lab = shared();
      const copy = await lab.spec({}, "copy");
      await forkSandbox(lab.engine, { sandbox: await lab.spec() }, copy, lab.options, neverAborted);
      expect(await lab.sh(copy, "cat /workspace/mark /tmp/mark")).toBe("a\nb");
    });
  });

  it("G10: a fork killed after the last step is complete, and gc only removes its record", async () => {
    await using lab = await openSnapshotLab(service);
    const copy = await lab.spec({}, "copy");
    await lab.sh(await lab.spec(), "echo a > /etc/mark");
    await killAt(lab, "fork", "rename", "after");
    await reclaimSnapshots(lab.engine, lab.store, { ...rules, now: Date.now() }, neverAborted);
    expect(await work(lab)).toEqual([]);
    expect(await lab.sh(copy, "cat /etc/mark")).toBe("a");
    expect(await lab.images()).toHaveLength(1);
  });

  describe("restore", () => {
    const shared = sharedLab();
    beforeAll(async () => {
      const lab = shared();
      const spec = await lab.spec();
      await lab.sh(spec, "echo old > /workspace/mark; echo old > /etc/mark");
      await snapshotSandbox(lab.engine, spec, { ...lab.options, name: "kept" }, neverAborted);
      await lab.sh(spec, "echo new > /workspace/mark; echo new > /etc/mark");
    });
    it.each(
      scale.killSteps([
        ["rename", "after"],
        ["start", "after"],
        ["create", "before"],
      ] as const),
    )("G8: killed at %s (%s): gc restores the old sandbox of the task", async (at, when) => {
      const lab = shared();
      const spec = await lab.spec();
      const listed = (await listSnapshots(lab.engine, lab.store, neverAborted)).length;
      const had = (await findContainer(lab.engine, spec.name, neverAborted))?.id;
      await killAt(lab, "restore", at, when);
      const { rows } = await reclaimSnapshots(
        lab.engine,
        lab.store,
        { ...rules, now: Date.now() },
        neverAborted,
      );
      expect(rows).toMatchObject([{ state: "unfinished", action: "removed" }]);
      expect((await findContainer(lab.engine, spec.name, neverAborted))?.id).toBe(had);
      expect(await lab.sh(spec, "cat /workspace/mark /etc/mark")).toBe("new\nnew");
      expect(await lab.containers()).toHaveLength(1);
      // The snapshot of the old sandbox is kept too.
      expect(await listSnapshots(lab.engine, lab.store, neverAborted)).toHaveLength(listed + 1);
    });
  });
});

describeWith("docker", "pruneSnapshots", (service) => {
  it("G8: removes snapshots by age and by count, but never one that a sandbox was created from", async () => {
    await using lab = await openSnapshotLab(service);
    const spec = await lab.spec();
    await lab.sh(spec, "true");
    const now = Date.now();
    const take = (name: string, ageMs: number) =>
      snapshotSandbox(lab.engine, spec, { ...lab.options, name, now: now - ageMs }, neverAborted);
    const used = await take("used", 10 * DAY_MS);
    await take("old", 9 * DAY_MS);
    await take("newer", DAY_MS);
    await take("newest", 0);
    await forkSandbox(lab.engine, { snapshot: used }, await lab.spec({}, "copy"), lab.options, neverAborted);
    const names = async () =>
      (await listSnapshots(lab.engine, lab.store, neverAborted)).map(({ name }) => name);

    const dry = { olderThanMs: 7 * DAY_MS, dryRun: true, now };
    const removed = (await pruneSnapshots(lab.engine, lab.store, dry, neverAborted)).filter(
      ({ action }) => action === "removed",
    );
    expect(removed.map(({ name }) => name)).toEqual(["old"]);
    expect(await names()).toEqual(["used", "old", "newer", "newest"]);
    await reclaimSnapshots(
      lab.engine,
      lab.store,
      { ttlSeconds: 7 * 86_400, dryRun: false, now },
      neverAborted,
    );
    expect(await names()).toEqual(["used", "newer", "newest"]);
    await pruneSnapshots(lab.engine, lab.store, { keepNewest: 1, dryRun: false, now }, neverAborted);
    expect(await names()).toEqual(["used", "newest"]);
    await pruneSnapshots(lab.engine, lab.store, { all: true, dryRun: false, now }, neverAborted);
    expect(await names()).toEqual(["used"]);
    expect(await lab.images()).toEqual([used.image]);
  });

  it("G8: keeps snapshots of other profiles, and an image that the user built on ours", async () => {
    await using lab = await openSnapshotLab(service);
    await using other = await openSnapshotLab(service);
    for (const one of [lab, other]) {
      const spec = await one.spec();
      await one.sh(spec, "true");
      await snapshotSandbox(one.engine, spec, one.options, neverAborted);
    }
    const [image = ""] = await lab.images();
    const own = `built-by-hand:${lab.profileId}`;
    await lab.docker("tag", image, own);
    try {
      const far = { ttlSeconds: 1, dryRun: false, now: Date.now() + DAY_MS };
      const { rows } = await reclaimSnapshots(lab.engine, lab.store, far, neverAborted);
      expect(rows).toMatchObject([{ state: "snapshot", action: "removed" }]);
      expect(await other.images()).toHaveLength(1);
      expect(await lab.docker("image", "inspect", "--format", "{{.RepoTags}}", own)).toBe(`[${own}]`);
    } finally {
      await lab.docker("rmi", own);
    }
  });
});
