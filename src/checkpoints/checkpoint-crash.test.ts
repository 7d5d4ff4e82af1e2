import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import type { CheckpointPlace } from "../../test/support/checkpoints-child.ts";
import { startChild } from "../../test/support/child.ts";
import { scale } from "../../test/support/scale.ts";
import { describeWith } from "../../test/support/services.ts";
import { tempFolder } from "../../test/support/temp-folder.ts";
import { systemClock } from "../lib/time/clock.ts";
import { createCheckpoints } from "./checkpoint-store.ts";
import { checkpointOptions } from "./options.ts";

const CHILD = new URL("../../test/support/checkpoints-child.ts", import.meta.url);
const signal = new AbortController().signal;

async function openPlace(files: number, content: string) {
  const temp = await tempFolder();
  const place: CheckpointPlace = {
    folder: temp.file("home/checkpoints"),
    project: temp.file("disk/project"),
    files,
  };
  await mkdir(place.project, { recursive: true });
  for (let file = 0; file < files; file++) await writeFile(join(place.project, `f${file}`), content);
  const location = { folder: place.folder, variables: { PATH: process.env["PATH"], HOME: temp.path } };
  const checkpoints = createCheckpoints(location, {
    options: checkpointOptions.parse({}),
    clock: systemClock,
  });
  return {
    temp,
    place,
    checkpoints,
    async turn(text: string): Promise<void> {
      const request = { folder: place.project, reason: "test", sessionId: undefined, paths: [] };
      const { number } = await checkpoints.take(request, signal);
      for (let file = 0; file < files; file++) await writeFile(join(place.project, `f${file}`), text);
      await checkpoints.complete(place.project, number, [], signal);
    },
    async contents(): Promise<ReadonlyMap<string, string>> {
      const names = (await readdir(place.project)).toSorted();
      const read = (name: string): Promise<string> => readFile(join(place.project, name), "utf8");
      return new Map(await Promise.all(names.map(async (name) => [name, await read(name)] as const)));
    },
    [Symbol.asyncDispose]: () => temp[Symbol.asyncDispose](),
  };
}

/** Kills the role some time after its first report. */
async function killSoon(role: string, place: CheckpointPlace): Promise<void> {
  await using child = startChild(CHILD, role, place);
  await child.next();
  await sleep(Math.random() * 400); // a random moment
  await child.kill();
}

describe("checkpoints after a kill", () => {
  test("agent K5: a rollback killed at any moment is finished by the next process, and no other file is left", async () => {
    const files = 30;
    await using lab = await openPlace(files, "old");
    const old = await lab.contents();
    await lab.turn("new");
    const changed = await lab.contents();
    for (let kill = 0; kill < scale.killMoments; kill++) {
      await killSoon("rollBackForever", lab.place);
      await lab.checkpoints.list(lab.place.project, signal);
      expect([old, changed]).toContainEqual(await lab.contents());
    }
  });

  test("agent K5: after a checkpoint was killed at any moment, the files are as they were, and the next can be undone", async () => {
    await using lab = await openPlace(5, "old");
    for (let kill = 0; kill < scale.killMoments; kill++) {
      await killSoon("changeForever", lab.place);
      const before = await lab.contents();
      await lab.turn(`after kill ${kill}`);
      await lab.checkpoints.rollBack(
        { folder: lab.place.project, steps: 1, path: undefined },
        { isDryRun: false },
        signal,
      );
      expect(await lab.contents()).toEqual(before);
    }
  });
});

describeWith("bubblewrap", "checkpoints on a full disk", () => {
  /** A file system of 2 MB at the folder, with the project or the store. */
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
    await using lab = await openPlace(0, "");
    const { place } = lab;
    const inChild = { ...place, project: join(place.project, "..", "small", "project"), files: 20 };
    await mkdir(join(place.project, "..", "small"));
    const prefix = onSmallDisk(join(place.project, "..", "small"));
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

  test("agent K5: where the store's disk is full, the checkpoint is refused and the files are as they were", async () => {
    await using lab = await openPlace(3, "old");
    const before = await lab.contents();
    const store = join(lab.temp.path, "home");
    await mkdir(store);
    await using child = startChild(CHILD, "fillStore", lab.place, { wrap: onSmallDisk(store) });
    expect(await child.next()).toMatch(/could not be created|failed in|no space/i);
    expect(await lab.contents()).toEqual(before);
  });
});
