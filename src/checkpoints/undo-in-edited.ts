import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { CheckpointGit } from "./checkpoint-git.ts";
import type { UndoInEdited } from "./plan-rollback.ts";

/** Merges with git: the changes from `after` back to `before` are applied to the edited file. */
export function createUndoInEdited(git: CheckpointGit): UndoInEdited {
  return async (edited, after, before) => {
    const versions = { edited, after, before };
    if (Object.values(versions).some(({ mode }) => !mode.startsWith("100"))) return undefined;
    const folder = await mkdtemp(join(tmpdir(), "hermes-merge-"));
    try {
      const pathOf = (name: keyof typeof versions): string => join(folder, name);
      for (const [name, { id }] of Object.entries(versions))
        await writeFile(join(folder, name), await git.readBlob(id), { mode: 0o600 });
      const isClean = await git.run(["merge-file", pathOf("edited"), pathOf("after"), pathOf("before")]).then(
        () => true,
        () => false, // the same lines were changed, or the file is not text
      );
      if (!isClean) return undefined;
      const id = (await git.run(["hash-object", "-w", "--no-filters", pathOf("edited")])).trim();
      return { mode: edited.mode, id };
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  };
}
