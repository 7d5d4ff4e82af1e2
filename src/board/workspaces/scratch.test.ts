import { mkdir, readdir, readFile, rename, rm, stat, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { codeOf, openSqliteLab, openStage } from "../../../test/support/board-lab.ts";
import { listNames } from "../../lib/files/unless-missing.ts";
import { neverAborted } from "../../lib/time/never-aborted.ts";
import { boardFolders } from "./board-folders.ts";
import { cleanUpWorkspace, cleanUpWorkspaces } from "./clean-up-workspace.ts";
import { prepareWorkspace } from "./prepare-workspace.ts";
import { emptyQuarantine, moveToQuarantine } from "./quarantine.ts";
import type { WorkspaceLocation } from "./workspace.ts";

const DAY = 86_400_000;

async function openLab() {
  const stage = await openStage(openSqliteLab);
  const { root } = stage.lab.location;
  const home = join(root, "home");
  await mkdir(join(home, "project"), { recursive: true });
  await writeFile(join(home, "project", "precious"), "x".repeat(2_000));
  const location: WorkspaceLocation = {
    ...boardFolders(root, "lab"),
    home,
    defaultWorkdir: null,
    env: { PATH: process.env["PATH"], HOME: home },
    now: () => stage.lab.now(),
  };
  return {
    ...stage,
    home,
    location,
    root,
    prepare: async (id: string, changed: Partial<WorkspaceLocation> = {}) =>
      prepareWorkspace(
        (await stage.store.show(id, neverAborted)).task,
        { ...location, ...changed },
        neverAborted,
      ),
    cleanUp: (id: string) => cleanUpWorkspace({ store: stage.store, location }, id, neverAborted),
    quarantined: () => listNames(location.quarantine),
    finish: (id: string) => stage.operator.complete(id, {}, neverAborted),
    exists: (path: string) =>
      stat(path).then(
        () => true,
        () => false,
      ),
  };
}

test("board A8: a scratch folder is below the root, empty, private, and reused by the next attempt", async () => {
  await using lab = await openLab();
  const task = await lab.add("a");
  const workspace = await lab.prepare(task.id, { defaultWorkdir: lab.home });
  expect(workspace).toEqual({ kind: "scratch", path: join(lab.location.workspaces, task.id) });
  expect(await readdir(workspace.path)).toEqual([]);
  expect((await stat(workspace.path)).mode & 0o777).toBe(0o700);
  await writeFile(join(workspace.path, "half-done"), "x");
  expect(await lab.prepare(task.id)).toEqual(workspace);
  expect(await readdir(workspace.path)).toEqual(["half-done"]);
});

test("board A8: the scratch folder of a done task is moved to the quarantine, and an event lists its files", async () => {
  await using lab = await openLab();
  const task = await lab.add("a");
  const { path } = await lab.prepare(task.id);
  await mkdir(join(path, "sub"));
  await writeFile(join(path, "sub", "large"), "x".repeat(1_500));
  await writeFile(join(path, "small"), "x");
  await symlink(join(lab.home, "project"), join(path, "link"));
  expect(await lab.cleanUp(task.id)).toMatchObject({ outcome: "kept", reason: "task-open" });
  await lab.finish(task.id);
  expect(await lab.cleanUp(task.id)).toEqual({
    taskId: task.id,
    outcome: "removed",
    discarded: {
      path,
      total_bytes: 1_501,
      file_count: 2,
      sample: [
        { file: "sub/large", bytes: 1_500 },
        { file: "small", bytes: 1 },
      ],
    },
  });
  expect(await lab.exists(path)).toBe(false);
  const [moved = ""] = await lab.quarantined();
  expect(await readFile(join(lab.location.quarantine, moved, "small"), "utf8")).toBe("x");
  expect(await lab.cleanUp(task.id)).toEqual({ taskId: task.id, outcome: "none" });
});

test("leftovers of a kilobyte or less, and declared files, are not reported", async () => {
  await using lab = await openLab();
  const task = await lab.add("a");
  const { path } = await lab.prepare(task.id);
  await mkdir(join(path, "out"));
  await writeFile(join(path, "out", "report"), "x".repeat(5_000));
  await writeFile(join(path, "notes"), "x".repeat(1_024));
  const artifacts = [{ path: "out/report", attachment: "report" }];
  await lab.operator.complete(task.id, { summary: "done", metadata: { artifacts } }, neverAborted);
  expect(await lab.cleanUp(task.id)).toMatchObject({ outcome: "removed", discarded: undefined });
});

test("board A8, G29: a scratch folder is kept while a child is unfinished, and the next sweep after that removes it", async () => {
  await using lab = await openLab();
  const parent = await lab.add("parent");
  const child = await lab.add("child", { parents: [parent.id] });
  const { path } = await lab.prepare(parent.id);
  await lab.finish(parent.id);
  const parts = { store: lab.store, location: lab.location };
  expect(await cleanUpWorkspaces(parts, neverAborted)).toMatchObject([
    { outcome: "kept", reason: "child-open" },
  ]);
  expect(await lab.exists(path)).toBe(true);
  await lab.operator.archive(child.id, neverAborted);
  expect(await cleanUpWorkspaces(parts, neverAborted)).toMatchObject([{ outcome: "removed" }]);
  expect(await lab.exists(path)).toBe(false);
});

test("the folders of archived and purged tasks are removed", async () => {
  await using lab = await openLab();
  const [archived, purged] = [await lab.add("a"), await lab.add("b")];
  for (const { id } of [archived, purged]) {
    await lab.prepare(id);
    await lab.operator.archive(id, neverAborted);
  }
  await lab.operator.purge(purged.id, neverAborted);
  const done = await cleanUpWorkspaces({ store: lab.store, location: lab.location }, neverAborted);
  expect(done.map(({ outcome }) => outcome)).toEqual(["removed", "removed"]);
});

test("board G28: a folder that we did not create is used and never removed", async () => {
  await using lab = await openLab();
  const task = await lab.add("a");
  const path = join(lab.location.workspaces, task.id);
  await mkdir(lab.location.workspaces, { recursive: true });
  await rename(join(lab.home, "project"), path);
  expect((await lab.prepare(task.id)).path).toBe(path);
  await lab.finish(task.id);
  expect(await lab.cleanUp(task.id)).toMatchObject({ outcome: "none" });
  expect(await readdir(path)).toEqual(["precious"]);
});

test("board G28: a folder that replaced ours is kept, and a link in its place is neither used nor removed", async () => {
  await using lab = await openLab();
  const task = await lab.add("a");
  const { path } = await lab.prepare(task.id);
  await lab.finish(task.id);
  await rm(path, { recursive: true });
  await rename(join(lab.home, "project"), path);
  expect(await lab.cleanUp(task.id)).toMatchObject({ outcome: "kept", reason: "not-ours" });
  expect(await readdir(path)).toEqual(["precious"]);

  const other = await lab.add("b");
  const theirs = await lab.prepare(other.id);
  await rm(theirs.path, { recursive: true });
  await rename(path, join(lab.home, "project"));
  await symlink(join(lab.home, "project"), theirs.path);
  expect(await codeOf(lab.prepare(other.id))).toBe("workspace-refused");
  await lab.finish(other.id);
  expect(await lab.cleanUp(other.id)).toMatchObject({ outcome: "none" });
  expect(await readdir(join(lab.home, "project"))).toEqual(["precious"]);
});

test("board G28: the home, its parents, the root of the disk, links to them and relative paths are refused as managed root", async () => {
  await using lab = await openLab();
  const task = await lab.add("a");
  const link = join(lab.root, "link");
  await symlink(lab.home, link);
  for (const workspaces of [lab.home, lab.root, "/", link, "workspaces", "../x"])
    expect(await codeOf(lab.prepare(task.id, { workspaces })), workspaces).toBe("workspace-refused");
  expect(await readdir(lab.home)).toEqual(["project"]);
});

test("an id that names another path creates no folder and removes none", async () => {
  await using lab = await openLab();
  const { task } = await lab.store.show((await lab.add("a")).id, neverAborted);
  for (const id of ["..", "../../home/project", "/etc", ".made", "a/b", "a\0b", "", "x".repeat(200)]) {
    expect(await codeOf(prepareWorkspace({ ...task, id }, lab.location, neverAborted)), id).toBe(
      "workspace-refused",
    );
    expect(await codeOf(lab.cleanUp(id)), id).toBe("workspace-refused");
  }
  expect(await readdir(join(lab.home, "project"))).toEqual(["precious"]);
});

test("the next call recovers from a crash between any two steps", async () => {
  await using lab = await openLab();
  const task = await lab.add("a");
  const path = join(lab.location.workspaces, task.id);
  await mkdir(path, { recursive: true }); // a crash before the record was written
  await lab.prepare(task.id);
  await lab.finish(task.id);
  await moveToQuarantine(path, task.id, lab.location); // a crash before the record was removed
  expect(await lab.cleanUp(task.id)).toMatchObject({ outcome: "none" });

  const again = await lab.add("b");
  const second = await lab.prepare(again.id);
  await moveToQuarantine(second.path, again.id, lab.location);
  await lab.prepare(again.id); // a reopened task gets a new folder
  await lab.finish(again.id);
  expect(await lab.cleanUp(again.id)).toMatchObject({ outcome: "removed" });
});

test("concurrent calls create one folder and remove it once", async () => {
  await using lab = await openLab();
  const task = await lab.add("a");
  const made = await Promise.all(Array.from({ length: 8 }, () => lab.prepare(task.id)));
  expect(new Set(made.map(({ path }) => path)).size).toBe(1);
  await lab.finish(task.id);
  const outcomes = (await Promise.all(Array.from({ length: 8 }, () => lab.cleanUp(task.id)))).map(
    (one) => one.outcome,
  );
  expect(outcomes.filter((outcome) => outcome === "removed")).toHaveLength(1);
  expect(await lab.quarantined()).toHaveLength(1);
});

test("a task that runs again keeps its folder, even if the cleanup of the earlier run is late", async () => {
  await using lab = await openLab();
  const task = await lab.add("a");
  const { path } = await lab.prepare(task.id);
  await lab.finish(task.id);
  await lab.operator.reopen(task.id, neverAborted);
  await lab.claim(task.id);
  expect(await lab.cleanUp(task.id)).toMatchObject({ outcome: "kept", reason: "task-open" });
  expect(await lab.exists(path)).toBe(true);
});

test("board A8: a folder that a task names is created if missing and never removed", async () => {
  await using lab = await openLab();
  const path = join(lab.home, "new", "deep");
  const task = await lab.add("a", { workspaceKind: "dir", workspacePath: path });
  expect(await lab.prepare(task.id)).toEqual({ kind: "dir", path });
  await lab.finish(task.id);
  expect(await lab.cleanUp(task.id)).toMatchObject({ outcome: "none" });
  expect(await lab.exists(path)).toBe(true);
  const wrong = [
    { workspaceKind: "dir", workspacePath: "relative" },
    { workspaceKind: "dir", workspacePath: "~/x" },
    { workspaceKind: "dir" },
    { workspaceKind: "dir", workspacePath: join(lab.home, "project", "precious", "x") },
    { workspaceKind: "dir", workspacePath: "/proc/nowhere/x" },
    { workspaceKind: "scratch", workspacePath: join(lab.home, "project") },
  ] as const;
  for (const details of wrong) {
    const { id } = await lab.add("b", details);
    expect(await codeOf(lab.prepare(id)), JSON.stringify(details)).toBe("workspace-refused");
  }
});

test("quarantined entries are deleted after the retention time, links are not followed, and other files there are kept", async () => {
  await using lab = await openLab();
  const task = await lab.add("a");
  const { path } = await lab.prepare(task.id);
  await symlink(join(lab.home, "project"), join(path, "link"));
  await lab.finish(task.id);
  await lab.cleanUp(task.id);
  await writeFile(join(lab.location.quarantine, "notes.txt"), "of a person");
  expect(await emptyQuarantine(lab.location, 7 * DAY, neverAborted)).toEqual({ deleted: 0, failures: [] });
  await lab.lab.advance(7 * DAY);
  expect(await emptyQuarantine(lab.location, 7 * DAY, neverAborted)).toEqual({ deleted: 1, failures: [] });
  expect(await lab.quarantined()).toEqual(["notes.txt"]);
  expect(await readdir(join(lab.home, "project"))).toEqual(["precious"]);
});
