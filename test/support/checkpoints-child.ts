import { readdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createCheckpoints } from "../../src/checkpoints/checkpoint-store.ts";
import { checkpointOptions } from "../../src/checkpoints/options.ts";
import { errnoOf, messageOf } from "../../src/lib/errors.ts";
import { systemClock } from "../../src/lib/time/clock.ts";
import { playRole, print } from "./child-role.ts";

export interface CheckpointFolders {
  readonly folder: string;
  readonly project: string;
  readonly files: number;
}

const signal = new AbortController().signal;

await playRole({
  /** Undoes and redoes the last change until it is killed. */
  async rollBackForever(folders: CheckpointFolders) {
    const checkpoints = open(folders);
    for (let round = 0; ; round++) {
      print(round);
      await checkpoints.rollBack(
        { folder: folders.project, steps: 1, path: undefined },
        { isDryRun: false },
        signal,
      );
    }
  },
  /** Makes one change after the other, each with a checkpoint, until it is killed. */
  async changeForever(folders: CheckpointFolders) {
    for (let round = 0; ; round++) {
      print(round);
      await change(folders, `round ${round}`);
    }
  },
  /** Fills the disk of the project, tries to undo a change, and tries again with free space. */
  async fillProject(folders: CheckpointFolders) {
    await change(folders, "y".repeat(30_000));
    const filler = join(folders.project, "..", "filler");
    await fill(filler);
    print([await rollBack(folders), await summarise(folders)]);
    await rm(filler);
    print([await rollBack(folders), await summarise(folders)]);
  },
  /** Fills the disk of the store, and tries to take a checkpoint. */
  async fillStore(folders: CheckpointFolders) {
    await fill(join(folders.folder, "..", "filler"));
    print(await change(folders, "new").then(() => "taken", messageOf));
  },
});

function open({ folder }: CheckpointFolders) {
  const variables = { PATH: process.env["PATH"], HOME: folder };
  return createCheckpoints(
    { folder, variables },
    { options: checkpointOptions.parse({}), clock: systemClock },
  );
}

async function change(folders: CheckpointFolders, content: string): Promise<void> {
  const checkpoints = open(folders);
  const request = { folder: folders.project, reason: "test", sessionId: undefined };
  const { number } = await checkpoints.take(request, signal);
  for (let file = 0; file < folders.files; file++)
    await writeFile(join(folders.project, `f${file}`), content);
  await checkpoints.complete(folders.project, number, signal);
}

/** The number of files in the project, and the length and first character of each distinct content. */
async function summarise({ project }: CheckpointFolders): Promise<readonly string[]> {
  const names = (await readdir(project)).toSorted();
  const texts = await Promise.all(names.map((name) => readFile(join(project, name), "latin1")));
  return [String(names.length), ...new Set(texts.map((text) => `${text.length} × ${text.charAt(0)}`))];
}

function rollBack(folders: CheckpointFolders): Promise<string> {
  return open(folders)
    .rollBack({ folder: folders.project, steps: 1, path: undefined }, { isDryRun: false }, signal)
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
