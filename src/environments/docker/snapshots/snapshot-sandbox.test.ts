import { readdir, readFile, readlink } from "node:fs/promises";
import { join } from "node:path";
import { expect, it, vi } from "vitest";
import { describeWith } from "../../../../test/support/services.ts";
import { openSnapshotLab } from "../../../../test/support/snapshot-lab.ts";
import { listNames } from "../../../lib/files/unless-missing.ts";
import { neverAborted } from "../../../lib/time/never-aborted.ts";
import { findContainer } from "../lifecycle/container.ts";
import { ensureSandbox } from "../lifecycle/ensure-sandbox.ts";
import { forkSandbox } from "../restore/fork-sandbox.ts";
import { isOurs } from "../spec/labels.ts";
import { listSnapshots } from "./list-snapshots.ts";
import { snapshotSandbox } from "./snapshot-sandbox.ts";
import { requireSnapshot, snapshotFolder, snapshotsFolder } from "./snapshot-store.ts";

vi.setConfig({ testTimeout: 600_000 }); // each test creates several sandboxes

const WRITE =
  "echo system > /etc/mark; echo work > /workspace/w; echo home > /root/h; echo scratch > /tmp/t; ln -s /etc/passwd /workspace/link; chown 77:88 /workspace/w";
const READ = "cat /etc/mark /workspace/w /root/h /tmp/t; stat -c %u:%g /workspace/w";
const WRITTEN = "system\nwork\nhome\nscratch\n77:88";

describeWith("docker", "snapshotSandbox", (service) => {
  it("G8: captures the file system, the kept folders and in-memory files, and follows no link", async () => {
    await using lab = await openSnapshotLab(service);
    const spec = await lab.spec();
    await lab.sh(spec, WRITE);
    const taken = await snapshotSandbox(lab.engine, spec, { ...lab.options, name: "first" }, neverAborted);
    const folder = snapshotFolder(lab.store, taken.id);
    expect(await readFile(join(folder, "workspace/w"), "utf8")).toBe("work\n");
    expect(await readlink(join(folder, "workspace/link"))).toBe("/etc/passwd");
    await lab.sh(spec, "echo later > /etc/mark; rm /workspace/w /root/h /tmp/t");
    const copy = await lab.spec({}, "copy");
    const snapshot = await requireSnapshot(lab.store, "first");
    await forkSandbox(lab.engine, { snapshot }, copy, lab.options, neverAborted);
    expect(await lab.sh(copy, READ)).toBe(WRITTEN);
    expect(await lab.sh(spec, "cat /etc/mark; ls /workspace")).toBe("later\nlink");
    expect(lab.notices).toEqual([]);
  });

  it("G8: captures in-memory files when the settings keep no folders", async () => {
    await using lab = await openSnapshotLab(service);
    const memory = { container_persistent: false };
    const spec = await lab.spec(memory);
    await lab.sh(spec, WRITE);
    const taken = await snapshotSandbox(lab.engine, spec, lab.options, neverAborted);
    expect(taken).toMatchObject({ folders: [], archived: expect.arrayContaining(["/root", "/workspace"]) });
    const copy = await lab.spec(memory, "copy");
    await forkSandbox(lab.engine, { snapshot: taken }, copy, lab.options, neverAborted);
    expect(await lab.sh(copy, READ)).toBe(WRITTEN);
  });

  it("G8: the image is labelled with its profile and task, and a container created from it by hand is not ours", async () => {
    await using lab = await openSnapshotLab(service);
    const spec = await lab.spec({}, 'a "task" of $HOME');
    await lab.sh(spec, "true");
    const { id, image, created_at } = await snapshotSandbox(
      lab.engine,
      spec,
      { ...lab.options, name: "n" },
      neverAborted,
    );
    const labels = JSON.parse(
      await lab.docker("image", "inspect", "--format", "{{json .Config.Labels}}", image),
    );
    expect(labels).toMatchObject({
      "hermes-agent": "1",
      "hermes-impl": "ts",
      "hermes-profile-id": lab.profileId,
      "hermes-task": 'a "task" of $HOME',
      "hermes-snapshot": id,
      "hermes-snapshot-name": "n",
      "hermes-created-at": created_at,
    });
    const byHand = await lab.docker("create", "--entrypoint", "sh", image);
    const found = await findContainer(lab.engine, byHand, neverAborted);
    expect(found && isOurs(found.labels)).toBe(false);
    await lab.docker("rm", byHand);
  });

  it("G8: a running command continues, and image and folders are consistent", async () => {
    await using lab = await openSnapshotLab(service);
    const spec = await lab.spec();
    await lab.sh(
      spec,
      "i=0; (while :; do i=$((i+1)); echo $i > /etc/count; echo $i > /workspace/count; done) &",
    );
    const taken = await snapshotSandbox(lab.engine, spec, lab.options, neverAborted);
    const copy = await lab.spec({}, "copy");
    await forkSandbox(lab.engine, { snapshot: taken }, copy, lab.options, neverAborted);
    const [system = "", work = ""] = (await lab.sh(copy, "cat /etc/count /workspace/count")).split("\n");
    // A file that was just truncated has no number yet.
    if (system !== "" && work !== "") expect(Math.abs(Number(system) - Number(work))).toBeLessThanOrEqual(1);
    const before = Number(await lab.sh(spec, "cat /etc/count"));
    await expect.poll(async () => Number(await lab.sh(spec, "cat /etc/count"))).toBeGreaterThan(before);
  });

  it("G8: of two concurrent snapshots with the same name only one succeeds, and the other leaves nothing behind", async () => {
    await using lab = await openSnapshotLab(service);
    const specs = [await lab.spec(), await lab.spec({}, "other")];
    await Promise.all(specs.map((spec) => lab.sh(spec, "true")));
    const outcomes = await Promise.allSettled(
      specs.map((spec) => snapshotSandbox(lab.engine, spec, { ...lab.options, name: "same" }, neverAborted)),
    );
    expect(outcomes.map(({ status }) => status).toSorted()).toEqual(["fulfilled", "rejected"]);
    expect(outcomes.find(({ status }) => status === "rejected")).toMatchObject({
      reason: { code: "snapshot-exists" },
    });
    expect(await listSnapshots(lab.engine, lab.store, neverAborted)).toHaveLength(1);
    expect(await lab.images()).toHaveLength(1);
    expect(await listNames(join(snapshotsFolder(lab.store), "work"))).toEqual([]);
  });

  it("G8: a failed snapshot leaves nothing behind, and the sandbox keeps running", async () => {
    await using lab = await openSnapshotLab(service);
    const spec = await lab.spec();
    await lab.sh(spec, WRITE);
    const engine = await lab.wrap('case "$1" in commit) echo "no space left" >&2; exit 1;; esac');
    await expect(snapshotSandbox(engine, spec, lab.options, neverAborted)).rejects.toMatchObject({
      code: "sandbox-unavailable",
      message: expect.stringContaining("no space left"),
    });
    expect(await listSnapshots(lab.engine, lab.store, neverAborted)).toEqual([]);
    expect(await lab.images()).toEqual([]);
    expect(await listNames(join(snapshotsFolder(lab.store), "work"))).toEqual([]);
    expect((await findContainer(lab.engine, spec.name, neverAborted))?.state).toBe("running");
  });

  it("G8: prints a notice where the sandbox cannot be paused, and copies anyway", async () => {
    await using lab = await openSnapshotLab(service);
    const spec = await lab.spec();
    await lab.sh(spec, WRITE);
    const engine = await lab.wrap('case "$1" in pause) echo "no freezer" >&2; exit 1;; esac');
    await snapshotSandbox(engine, spec, lab.options, neverAborted);
    expect(lab.notices).toEqual([expect.stringContaining("no freezer")]);
  });

  it("G8: refuses a duplicate name, an invalid name, and a task without a sandbox", async () => {
    await using lab = await openSnapshotLab(service);
    const spec = await lab.spec();
    await ensureSandbox(lab.engine, spec, lab.reporter, neverAborted);
    const take = (name: string) => snapshotSandbox(lab.engine, spec, { ...lab.options, name }, neverAborted);
    await take("one");
    await expect(take("one")).rejects.toMatchObject({ code: "snapshot-exists" });
    await expect(take("../one")).rejects.toMatchObject({ code: "usage-wrong" });
    const missing = snapshotSandbox(lab.engine, await lab.spec({}, "missing"), lab.options, neverAborted);
    await expect(missing).rejects.toMatchObject({ code: "sandbox-unavailable" });
    await expect(requireSnapshot(lab.store, "ome")).rejects.toMatchObject({
      code: "snapshot-not-found",
      hint: expect.stringContaining("Did you mean one?"),
    });
    const left = (await readdir(snapshotsFolder(lab.store))).filter((name) => !name.endsWith(".lock"));
    expect(left).toHaveLength(3); // the snapshot, and the folders `work` and `beginning`
  });
});
