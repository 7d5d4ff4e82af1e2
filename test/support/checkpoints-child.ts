import { readdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createCheckpoints } from "../../src/checkpoints/checkpoint-store.ts";
import { checkpointOptions } from "../../src/checkpoints/options.ts";
import { errnoOf, messageOf } from "../../src/lib/errors.ts";
import { systemClock } from "../../src/lib/time/clock.ts";
import { playRole, print } from "./child-role.ts";

export interface CheckpointPlace {
  readonly folder: string;
  readonly project: string;
  readonly files: number;
}

const signal = new AbortController().signal;

await playRole({
  /** Undoes and repeats the last change, until it is killed. */
  async rollBackForever(place: CheckpointPlace) {
    const checkpoints = open(place);
    for (let round = 0; ; round++) {
      print(round);
      await checkpoints.rollBack(
        { folder: place.project, steps: 1, path: undefined },
        { isDryRun: false },
        signal,
      );
    }
  },
  /** Takes and completes checkpoints of one change after the other, until it is killed. */
  async changeForever(place: CheckpointPlace) {
    for (let round = 0; ; round++) {
      print(round);
      await change(place, `round ${round}`);
    }
  },
  /** Fills the disk of the project, tries to undo a change, and tries again with free space. */
  async fillProject(place: CheckpointPlace) {
    await change(place, "y".repeat(30_000));
    const filler = join(place.project, "..", "filler");
    await fill(filler);
    print([await rollBack(place), await firstBytes(place)]);
    await rm(filler);
    print([await rollBack(place), await firstBytes(place)]);
  },
  /** Fills the disk of the store, and tries to take a checkpoint. */
  async fillStore(place: CheckpointPlace) {
    await fill(join(place.folder, "..", "filler"));
    print(await change(place, "new").then(() => "taken", messageOf));
  },
});

function open({ folder }: CheckpointPlace) {
  const variables = { PATH: process.env["PATH"], HOME: folder };
  return createCheckpoints(
    { folder, variables },
    { options: checkpointOptions.parse({}), clock: systemClock },
  );
}

async function change(place: CheckpointPlace, content: string): Promise<void> {
  const checkpoints = open(place);
  const request = { folder: place.project, reason: "test", sessionId: undefined, paths: [] };
  const { number } = await checkpoints.take(request, signal);
  for (let file = 0; file < place.files; file++) await writeFile(join(place.project, `f${file}`), content);
  await checkpoints.complete(place.project, number, [], signal);
}

/** The names in the project, and the different contents by their length and first character. */
async function firstBytes({ project }: CheckpointPlace): Promise<readonly string[]> {
  const names = (await readdir(project)).toSorted();
  const texts = await Promise.all(names.map((name) => readFile(join(project, name), "latin1")));
  return [String(names.length), ...new Set(texts.map((text) => `${text.length} × ${text.charAt(0)}`))];
}

function rollBack(place: CheckpointPlace): Promise<string> {
  return open(place)
    .rollBack({ folder: place.project, steps: 1, path: undefined }, { isDryRun: false }, signal)
    .then(() => "undone", messageOf);
}

async function fill(path: string): Promise<void> {
  for (const size of [65_536, 4_096, 1])
    for (;;) {
      try {
        await writeFile(path, Buffer.alloc(size), { flag: "a" });
      } catch (error) {
        if (errnoOf(error) !== "ENOSPC") throw error;
        break;
      }
    }
}
