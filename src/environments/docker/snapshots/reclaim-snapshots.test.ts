import { join } from "node:path";
import { describe, expect, it, vi } from "vitest";
import { startChild } from "../../../../test/support/child.ts";
import { never } from "../../../../test/support/docker.ts";
import { scale } from "../../../../test/support/scale.ts";
import { describeWith } from "../../../../test/support/services.ts";
import { openSnapshotLab, type SnapshotLab } from "../../../../test/support/snapshots.ts";
import { findContainer } from "../container.ts";
import { namesIn } from "../names-in.ts";
import { forkSandbox } from "./fork-sandbox.ts";
import { listSnapshots } from "./list-snapshots.ts";
import { pruneSnapshots } from "./prune-snapshots.ts";
import { reclaimSnapshots } from "./reclaim-snapshots.ts";
import { snapshotSandbox } from "./snapshot-sandbox.ts";
import { snapshotsFolder } from "./snapshot-store.ts";

vi.setConfig({ testTimeout: 600_000 }); // each makes several sandboxes

const CHILD = new URL("../../../../test/support/snapshot-child.ts", import.meta.url);
const rules = { ttlSeconds: 0, dryRun: false };
const DAY_MS = 86_400_000;

describeWith("docker", "what a killed process leaves", (service) => {
  const die = async (lab: SnapshotLab, role: string, at: string, when: "before" | "after") => {
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
  const work = (lab: SnapshotLab) => namesIn(join(snapshotsFolder(lab.place), "work"));

  describe.each(
    scale.killSteps([
      ["pause", "after"],
      ["commit", "after"],
      ["commit", "before"],
    ] as const),
  )("snapshot, killed at %s (%s)", (at, when) => {
    it("G8: looks like no snapshot, is found by gc, and the sandbox goes on", async () => {
      await using lab = await openSnapshotLab(service);
      const spec = await lab.spec();
      await lab.sh(spec, "echo a > /workspace/mark");
      await die(lab, "snapshot", at, when);
      expect(await listSnapshots(lab.engine, lab.place, never)).toEqual([]);
      const now = Date.now();
      const dry = await reclaimSnapshots(lab.engine, lab.place, { ...rules, dryRun: true, now }, never);
      expect(dry.rows).toMatchObject([{ state: "unfinished", action: "removed" }]);
      expect(await work(lab)).toHaveLength(1);
      await expect
        .poll(async () => (await findContainer(lab.engine, spec.name, never))?.state, { timeout: 150_000 })
        .toBe("running");
      const { rows } = await reclaimSnapshots(lab.engine, lab.place, { ...rules, now }, never);
      expect(rows).toMatchObject([{ state: "unfinished", action: "removed" }]);
      expect(await lab.images()).toEqual([]);
      expect(await work(lab)).toEqual([]);
      expect(await lab.sh(spec, "cat /workspace/mark")).toBe("a");
    });
  });

  describe.each(
    scale.killSteps([
      ["create", "after"],
      ["rename", "before"],
      ["commit", "after"],
      ["create", "before"],
      ["start", "after"],
    ] as const),
  )("fork, killed at %s (%s)", (at, when) => {
    it("G10: gives the task no sandbox, and gc takes all of it back", async () => {
      await using lab = await openSnapshotLab(service);
      const source = await lab.spec();
      const copy = await lab.spec({}, "copy");
      await lab.sh(source, "echo a > /workspace/mark; echo b > /tmp/mark");
      await die(lab, "fork", at, when);
      expect(await findContainer(lab.engine, copy.name, never)).toBeUndefined();
      const { rows } = await reclaimSnapshots(lab.engine, lab.place, { ...rules, now: Date.now() }, never);
      expect(rows).toMatchObject([{ state: "unfinished", action: "removed" }]);
      expect(await lab.containers()).toHaveLength(1);
      expect(await lab.images()).toEqual([]);
      expect(await work(lab)).toEqual([]);
      expect(await namesIn(join(lab.host.sandboxesFolder, "docker"))).toHaveLength(1);
      await forkSandbox(lab.engine, { sandbox: source }, copy, lab.options, never);
      expect(await lab.sh(copy, "cat /workspace/mark /tmp/mark")).toBe("a\nb");
    });
  });

  it("G10: a fork killed after the last step is whole, and gc only removes its traces", async () => {
    await using lab = await openSnapshotLab(service);
    const copy = await lab.spec({}, "copy");
    await lab.sh(await lab.spec(), "echo a > /etc/mark");
    await die(lab, "fork", "rename", "after");
    await reclaimSnapshots(lab.engine, lab.place, { ...rules, now: Date.now() }, never);
    expect(await work(lab)).toEqual([]);
    expect(await lab.sh(copy, "cat /etc/mark")).toBe("a");
    expect(await lab.images()).toHaveLength(1);
  });

  describe.each(
    scale.killSteps([
      ["rename", "after"],
      ["start", "after"],
      ["create", "before"],
    ] as const),
  )("restore, killed at %s (%s)", (at, when) => {
    it("G8: gc gives the task back what it had", async () => {
      await using lab = await openSnapshotLab(service);
      const spec = await lab.spec();
      await lab.sh(spec, "echo old > /workspace/mark; echo old > /etc/mark");
      await snapshotSandbox(lab.engine, spec, { ...lab.options, name: "kept" }, never);
      await lab.sh(spec, "echo new > /workspace/mark; echo new > /etc/mark");
      const had = (await findContainer(lab.engine, spec.name, never))?.id;
      await die(lab, "restore", at, when);
      const { rows } = await reclaimSnapshots(lab.engine, lab.place, { ...rules, now: Date.now() }, never);
      expect(rows).toMatchObject([{ state: "unfinished", action: "removed" }]);
      expect((await findContainer(lab.engine, spec.name, never))?.id).toBe(had);
      expect(await lab.sh(spec, "cat /workspace/mark /etc/mark")).toBe("new\nnew");
      expect(await lab.containers()).toHaveLength(1);
      expect(await listSnapshots(lab.engine, lab.place, never)).toHaveLength(2); // that one, and what was before
    });
  });
});

describeWith("docker", "pruneSnapshots", (service) => {
  it("G8: removes by age and by number, but never what a sandbox began with", async () => {
    await using lab = await openSnapshotLab(service);
    const spec = await lab.spec();
    await lab.sh(spec, "true");
    const now = Date.now();
    const take = (name: string, ageMs: number) =>
      snapshotSandbox(lab.engine, spec, { ...lab.options, name, now: now - ageMs }, never);
    const used = await take("used", 10 * DAY_MS);
    await take("old", 9 * DAY_MS);
    await take("newer", DAY_MS);
    await take("newest", 0);
    await forkSandbox(lab.engine, { snapshot: used }, await lab.spec({}, "copy"), lab.options, never);
    const names = async () => (await listSnapshots(lab.engine, lab.place, never)).map(({ name }) => name);

    const dry = { olderThanMs: 7 * DAY_MS, dryRun: true, now };
    const removed = (await pruneSnapshots(lab.engine, lab.place, dry, never)).filter(
      ({ action }) => action === "removed",
    );
    expect(removed.map(({ name }) => name)).toEqual(["old"]);
    expect(await names()).toEqual(["used", "old", "newer", "newest"]);
    await reclaimSnapshots(lab.engine, lab.place, { ttlSeconds: 7 * 86_400, dryRun: false, now }, never);
    expect(await names()).toEqual(["used", "newer", "newest"]);
    await pruneSnapshots(lab.engine, lab.place, { keep: 1, dryRun: false, now }, never);
    expect(await names()).toEqual(["used", "newest"]);
    await pruneSnapshots(lab.engine, lab.place, { all: true, dryRun: false, now }, never);
    expect(await names()).toEqual(["used"]);
    expect(await lab.images()).toEqual([used.image]);
  });

  it("G8: leaves another profile's alone, and an image that somebody built on ours", async () => {
    await using lab = await openSnapshotLab(service);
    await using other = await openSnapshotLab(service);
    for (const one of [lab, other]) {
      const spec = await one.spec();
      await one.sh(spec, "true");
      await snapshotSandbox(one.engine, spec, one.options, never);
    }
    const [image = ""] = await lab.images();
    const own = `built-by-hand:${lab.profileId}`;
    await lab.docker("tag", image, own);
    try {
      const far = { ttlSeconds: 1, dryRun: false, now: Date.now() + DAY_MS };
      const { rows } = await reclaimSnapshots(lab.engine, lab.place, far, never);
      expect(rows).toMatchObject([{ state: "snapshot", action: "removed" }]);
      expect(await other.images()).toHaveLength(1);
      expect(await lab.docker("image", "inspect", "--format", "{{.RepoTags}}", own)).toBe(`[${own}]`);
    } finally {
      await lab.docker("rmi", own);
    }
  });
});
