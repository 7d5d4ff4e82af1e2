import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import type { CheckpointFolders } from "../../test/support/checkpoints-child.ts";
import { startChild } from "../../test/support/child.ts";
import { scale } from "../../test/support/scale.ts";
import { describeWith } from "../../test/support/services.ts";
import { tempFolder } from "../../test/support/temp-folder.ts";
import { systemClock } from "../lib/time/clock.ts";
import { createCheckpoints } from "./checkpoint-store.ts";
import { checkpointOptions } from "./options.ts";

const CHILD = new URL("../../test/support/checkpoints-child.ts", import.meta.url);
const signal = new AbortController().signal;

async function openLab(files: number, content: string) {
  const temp = await tempFolder();
  const folders: CheckpointFolders = {
    folder: temp.file("home/checkpoints"),
    project: temp.file("disk/project"),
    files,
  };
  await mkdir(folders.project, { recursive: true });
  for (let file = 0; file < files; file++) await writeFile(join(folders.project, `f${file}`), content);
  const location = { folder: folders.folder, variables: { PATH: process.env["PATH"], HOME: temp.path } };
  const checkpoints = createCheckpoints(location, {
    options: checkpointOptions.parse({}),
    clock: systemClock,
  });
  return {
    temp,
    folders,
    checkpoints,
    async turn(text: string): Promise<void> {
      const request = { folder: folders.project, reason: "test", sessionId: undefined };
      const { number } = await checkpoints.take(request, signal);
      for (let file = 0; file < files; file++) await writeFile(join(folders.project, `f${file}`), text);
      await checkpoints.complete(folders.project, number, signal);
    },
    async contents(): Promise<ReadonlyMap<string, string>> {
      const names = (await readdir(folders.project)).toSorted();
      const read = (name: string): Promise<string> => readFile(join(folders.project, name), "utf8");
      return new Map(await Promise.all(names.map(async (name) => [name, await read(name)] as const)));
    },
    [Symbol.asyncDispose]: () => temp[Symbol.asyncDispose](),
  };
}

/** Kills the role some time after its first report. */
async function killSoon(role: string, folders: CheckpointFolders): Promise<void> {
  await using child = startChild(CHILD, role, folders);
  await child.next();
  await sleep(Math.random() * 400); // a random time
  await child.kill();
}

describe("checkpoints after a kill", () => {
  test("agent K5: a rollback killed at any time is finished by the next process, and leaves no other file", async () => {
    const files = 30;
    await using lab = await openLab(files, "old");
    const old = await lab.contents();
    await lab.turn("new");
    const changed = await lab.contents();
    for (let kill = 0; kill < scale.killMoments; kill++) {
      await killSoon("rollBackForever", lab.folders);
      await lab.checkpoints.list(lab.folders.project, signal);
      expect([old, changed]).toContainEqual(await lab.contents());
    }
  });

  test("agent K5: a checkpoint killed at any time changes no file, and the next turn can be undone", async () => {
    await using lab = await openLab(5, "old");
    for (let kill = 0; kill < scale.killMoments; kill++) {
      await killSoon("changeForever", lab.folders);
      const before = await lab.contents();
      await lab.turn(`after kill ${kill}`);
      await lab.checkpoints.rollBack(
        { folder: lab.folders.project, steps: 1, path: undefined },
        { isDryRun: false },
        signal,
      );
      expect(await lab.contents()).toEqual(before);
    }
  });
});

describeWith("bubblewrap", "checkpoints on a full disk", () => {
  /** Mounts a file system of 2 MB at the folder. */
  const onSmallDisk = (folder: string): readonly string[] => [
    "bwrap",
    "--dev-bind",
    "/",
    "/",
    "--size",
    "2000000",
    "--tmpfs",
    folder,
    "--",
  ];

  test("agent K5: where the project's disk is full, a rollback changes nothing, and works once there is space", async () => {
    await using lab = await openLab(0, "");
    const { folders } = lab;
    const inChild = { ...folders, project: join(folders.project, "..", "small", "project"), files: 20 };
    await mkdir(join(folders.project, "..", "small"));
    const prefix = onSmallDisk(join(folders.project, "..", "small"));
    const wrap = [
      ...prefix,
      "sh",
      "-c",
      'mkdir "$0" && for n in $(seq 0 19); do head -c 60000 /dev/zero > "$0/f$n"; done && exec "$@"',
      inChild.project,
    ];
    await using child = startChild(CHILD, "fillProject", inChild, { wrap });
    expect(await child.next()).toEqual([
      expect.stringMatching(/No file was changed: .*ENOSPC/),
      ["20", "30000 × y"],
    ]);
    expect(await child.next()).toEqual(["undone", ["20", "60000 × \0"]]);
  });

  test("agent K5: where the store's disk is full, the checkpoint is refused and no file is changed", async () => {
    await using lab = await openLab(3, "old");
    const before = await lab.contents();
    const store = join(lab.temp.path, "home");
    await mkdir(store);
    await using child = startChild(CHILD, "fillStore", lab.folders, { wrap: onSmallDisk(store) });
    expect(await child.next()).toMatch(/could not be created|failed in|no space/i);
    expect(await lab.contents()).toEqual(before);
  });
});
