import { createHash } from "node:crypto";
import { lstat, rm, stat } from "node:fs/promises";
import { homedir } from "node:os";
import { join, relative } from "node:path";
import { AppError } from "../lib/errors.ts";
import { withFileLock } from "../lib/files/file-lock.ts";
import { writeFileAtomic } from "../lib/files/files.ts";
import { unlessMissing } from "../lib/files/unless-missing.ts";
import { searchPathOutside } from "../lib/process/search-path.ts";
import type { Clock } from "../lib/time/clock.ts";
import { applyChanges } from "./apply-changes.ts";
import { type CheckpointGit, createCheckpointGit, openStore, type StoreLocation } from "./checkpoint-git.ts";
import { type Change, compareTrees } from "./compare-trees.ts";
import { findProject } from "./find-project.ts";
import type { CheckpointOptions } from "./options.ts";
import { planRollback } from "./plan-rollback.ts";
import { openPrivateModes, type PrivateModes } from "./private-modes.ts";
import { saveTree, split } from "./save-tree.ts";
import { createUndoInEdited } from "./undo-in-edited.ts";

/** The files of a project before a turn or a rollback changed them. */
export interface Checkpoint {
  /** The position in the project's series of checkpoints. */
  readonly number: number;
  readonly takenAt: number;
  /** What was about to change the files: a message of a session, or `rollback`. */
  readonly reason: string;
  readonly sessionId: string | undefined;
  readonly before: string;
  /** The files after the change; undefined if the process was killed before it was saved. */
  readonly after: string | undefined;
}

export interface TakeRequest {
  readonly folder: string;
  readonly reason: string;
  readonly sessionId: string | undefined;
}

export interface RollbackRequest {
  readonly folder: string;
  /** 1 undoes the latest change, 2 the two latest. */
  readonly steps: number;
  /** Limits the rollback to this file or folder, an absolute path. */
  readonly path: string | undefined;
}

export interface RollbackResult {
  readonly project: string;
  readonly restored: readonly string[];
  /** Files that the user has also edited: those edits were kept and the changes of the turns undone. */
  readonly merged: readonly string[];
  /** Files that were not changed, because the user has edited the same lines or they are now outside the project. */
  readonly kept: readonly string[];
  /** Files that git ignores and that have changed since: checkpoints do not contain them. */
  readonly ignored: readonly string[];
  /** The changes as a patch. */
  readonly patch: string;
}

const DAY_MS = 24 * 60 * 60_000;

/** Creates the checkpoints of a profile. */
export function createCheckpoints(
  { folder: storeFolder, variables }: StoreLocation,
  { options, clock }: { readonly options: CheckpointOptions; readonly clock: Clock },
) {
  const limits = { maxFiles: options.max_files, maxFileBytes: options.max_file_mb * 1024 * 1024 };

  /** Runs an action while this process holds the lock of the project's checkpoints. */
  async function withProject<Result>(
    folder: string,
    action: (project: Project) => Promise<Result>,
    signal: AbortSignal,
  ): Promise<Result> {
    const location: StoreLocation = {
      folder: storeFolder,
      variables: { ...variables, PATH: await searchPathOutside(folder, variables["PATH"]) },
    };
    const root = await findProject(folder, { home: homedir(), variables: location.variables }, signal);
    await openStore(location, signal);
    const key = createHash("sha256").update(root).digest("hex").slice(0, 16);
    const lock = join(location.folder, `lock-${key}`);
    return withFileLock(
      lock,
      async () => {
        // We hold the project's lock, so a lock of git can only come from a killed process.
        await rm(join(location.folder, `index-${key}.lock`), { force: true });
        const git = createCheckpointGit(location, { workTree: root, index: `index-${key}` }, signal);
        const modes = await openPrivateModes(join(location.folder, `modes-${key}.json`));
        const project: Project = {
          ...{ location, root, key, git, modes },
          async save() {
            const saved = await saveTree(location, root, { key, limits, modes, prefix: "" }, signal);
            await modes.store();
            return saved;
          },
        };
        await finishRollback(project);
        return action(project);
      },
      signal,
    );
  }

  async function store({ git, key }: Project, checkpoint: Omit<Checkpoint, "number">): Promise<number> {
    const number = ((await list(git, key)).at(-1)?.number ?? 0) + 1;
    await putCheckpoint(git, key, { ...checkpoint, number });
    return number;
  }

  async function prune({ git, key }: Project): Promise<void> {
    const found = await list(git, key);
    const oldest = clock.now() - options.max_days * DAY_MS;
    const expired = found.filter(
      ({ takenAt }, index) => index < found.length - options.max_snapshots || takenAt < oldest,
    );
    for (const { number } of expired) await git.run(["update-ref", "-d", refOf(key, number)]);
    await limitSize(git);
  }

  /** Deletes the oldest checkpoints of all projects while the store is too large. Checks once an hour. */
  async function limitSize(git: CheckpointGit): Promise<void> {
    const stamp = join(storeFolder, "size-checked");
    const checked = await unlessMissing(stat(stamp));
    if (checked !== undefined && clock.now() - checked.mtimeMs < DAY_MS / 24) return;
    await writeFileAtomic(stamp, "", { mode: 0o600 });
    const refs = (
      await git.run(["for-each-ref", "--sort=creatordate", "--format=%(refname)", "refs/checkpoints"])
    )
      .split("\n")
      .filter((ref) => ref !== "");
    for (const ref of ["", ...refs.slice(0, -1)]) {
      if (ref !== "") await git.run(["update-ref", "-d", ref]);
      // Keep recent objects: another process may be storing a checkpoint that has no reference yet.
      await git.run(["prune", "--expire=1.hour.ago"]);
      const counted = await git.run(["count-objects", "-v"]);
      const kib = [...counted.matchAll(/^size(?:-pack)?: (\d+)$/gm)].reduce(
        (sum, row) => sum + Number(row[1]),
        0,
      );
      if (kib <= options.max_total_mb * 1024) return;
    }
  }

  return {
    /** Saves the files before a change. Pass the returned number to `complete` after the change. */
    take({ folder, reason, sessionId }: TakeRequest, signal: AbortSignal) {
      return withProject(
        folder,
        async (project) => {
          const { tree, omitted } = await project.save();
          const taken = { takenAt: clock.now(), reason, sessionId, before: tree, after: undefined };
          const number = await store(project, taken);
          await prune(project);
          return { number, omitted };
        },
        signal,
      );
    },

    /** Saves the files after the change. */
    complete(folder: string, number: number, signal: AbortSignal): Promise<void> {
      return withProject(
        folder,
        async (project) => {
          const found = (await list(project.git, project.key)).find(
            (checkpoint) => checkpoint.number === number,
          );
          if (found === undefined) return;
          const { tree } = await project.save();
          // Nothing has changed, so there is nothing to undo.
          if (tree === found.before) await project.git.run(["update-ref", "-d", refOf(project.key, number)]);
          else await putCheckpoint(project.git, project.key, { ...found, after: tree });
        },
        signal,
      );
    },

    /** The checkpoints of the project that a folder belongs to, newest first. */
    list(folder: string, signal: AbortSignal): Promise<readonly Checkpoint[]> {
      return withProject(folder, async ({ git, key }) => (await list(git, key)).toReversed(), signal);
    },

    /** Undoes the latest changes but keeps the user's own edits. The rollback is stored as a change, so it can be undone too. */
    rollBack(
      { folder, steps, path }: RollbackRequest,
      { isDryRun }: { readonly isDryRun: boolean },
      signal: AbortSignal,
    ): Promise<RollbackResult> {
      return withProject(
        folder,
        async (project) => {
          const { location, git, key, root } = project;
          const found = (await list(git, key)).slice(-steps);
          if (found.length < steps)
            throw new AppError(
              "checkpoint-missing",
              found.length === 0
                ? `There is no checkpoint of ${root}.`
                : `There are only ${found.length} checkpoints of ${root}.`,
            );
          const { tree: now } = await project.save();
          const ignored = await listChangedIgnored(project, found[0]?.takenAt ?? 0);
          const turns: (readonly Change[])[] = [];
          for (const [index, { before, after }] of found.entries())
            turns.push(await compareTrees(git, before, after ?? found[index + 1]?.before ?? now));
          const current = await entriesOf(git, now, turns);
          const wanted = path === undefined ? "" : relative(root, path);
          const isWanted = (name: string): boolean =>
            wanted === "" || name === wanted || name.startsWith(`${wanted}/`);
          const plan = await planRollback(
            turns,
            (name) => current.get(name),
            isWanted,
            createUndoInEdited(git),
          );
          const { changes, restored, merged, kept } = plan;
          const result = await writeTree(location, root, now, changes, signal);
          const patch = await git.run(["diff", "--no-color", "--no-ext-diff", now, result]);
          if (!isDryRun && changes.length > 0) {
            const number = await store(project, {
              takenAt: clock.now(),
              reason: "rollback",
              sessionId: undefined,
              before: now,
              after: result,
            });
            await git.run(["update-ref", pendingRef(key), await commitOf(git, key, number)]);
            const skipped = await finishRollback(project).catch(async (error: unknown) => {
              if (error instanceof AppError && error.code === "rollback-unfinished") throw error;
              // No file was changed, so a later process must not finish this rollback.
              for (const ref of [pendingRef(key), refOf(key, number)])
                await git.run(["update-ref", "-d", ref]);
              throw error;
            });
            const isWritten = (name: string): boolean => !skipped.includes(name);
            return {
              project: root,
              restored: restored.filter(isWritten),
              merged: merged.filter(isWritten),
              kept: [...kept, ...skipped],
              ignored,
              patch,
            };
          }
          return { project: root, restored, merged, kept, ignored, patch };
        },
        signal,
      );
    },
  };
}

export type Checkpoints = ReturnType<typeof createCheckpoints>;

interface Project {
  readonly location: StoreLocation;
  readonly root: string;
  readonly key: string;
  readonly git: CheckpointGit;
  readonly modes: PrivateModes;
  save(): ReturnType<typeof saveTree>;
}

function refOf(key: string, number: number): string {
  return `refs/checkpoints/${key}/${String(number).padStart(8, "0")}`;
}
/** The reference to a rollback in progress. After a kill, the next process finishes it. */
function pendingRef(key: string): string {
  return `refs/pending/${key}`;
}
async function commitOf(git: CheckpointGit, key: string, number: number): Promise<string> {
  return (await git.run(["rev-parse", refOf(key, number)])).trim();
}

/** Writes the files of a pending rollback, if any; returns those that were skipped because they have changed. */
async function finishRollback({ git, key, root, modes }: Project): Promise<readonly string[]> {
  const [row] = await readCheckpoints(git, pendingRef(key));
  if (row?.after === undefined) return [];
  const { skipped } = await applyChanges(git, root, modes, await compareTrees(git, row.before, row.after));
  await git.run(["update-ref", "-d", pendingRef(key)]);
  return skipped;
}

/** Lists ignored files that have changed since. Ignored folders are skipped, because they may contain very many files. */
async function listChangedIgnored({ git, root }: Project, since: number): Promise<string[]> {
  const args = ["ls-files", "-z", "--others", "--ignored", "--exclude-standard", "--directory"];
  const files = split(await git.run(args)).filter((path) => !path.endsWith("/"));
  const changed = files.map(async (path) => {
    const found = await unlessMissing(lstat(join(root, path)));
    return found !== undefined && found.mtimeMs >= since ? [path] : [];
  });
  return (await Promise.all(changed)).flat();
}

/** Stores a checkpoint as a commit: its message holds the data, and its parents protect both trees from git's pruning. */
async function putCheckpoint(git: CheckpointGit, key: string, checkpoint: Checkpoint): Promise<void> {
  const { before, after } = checkpoint;
  const parents: string[] = [];
  if (after !== undefined) parents.push("-p", (await git.run(["commit-tree", after], "after")).trim());
  const commit = (await git.run(["commit-tree", before, ...parents], JSON.stringify(checkpoint))).trim();
  await git.run(["update-ref", refOf(key, checkpoint.number), commit]);
}

function list(git: CheckpointGit, key: string): Promise<Checkpoint[]> {
  return readCheckpoints(git, `refs/checkpoints/${key}/`);
}

async function readCheckpoints(git: CheckpointGit, pattern: string): Promise<Checkpoint[]> {
  const text = await git.run(["for-each-ref", "--sort=refname", "--format=%(contents)%00", pattern]);
  return text
    .split("\0")
    .map((row) => row.trim())
    .filter((row) => row !== "")
    .map((row) => JSON.parse(row) as Checkpoint);
}

/** The current state of all files that the turns changed. */
async function entriesOf(git: CheckpointGit, tree: string, turns: readonly (readonly Change[])[]) {
  const wanted = new Set(turns.flat().map(({ path }) => path));
  const rows = (await git.run(["ls-tree", "-r", "-z", tree])).split("\0").filter((row) => row !== "");
  return new Map(
    rows.flatMap((row) => {
      const tab = row.indexOf("\t");
      const [mode = "", , id = ""] = row.slice(0, tab).split(" ");
      const path = row.slice(tab + 1);
      return wanted.has(path) ? [[path, { mode, id }] as const] : [];
    }),
  );
}

/** Creates the tree that results from the changes, in a separate index. */
async function writeTree(
  location: StoreLocation,
  root: string,
  base: string,
  changes: readonly Change[],
  signal: AbortSignal,
): Promise<string> {
  const index = `index-rollback-${process.pid}`;
  const git = createCheckpointGit(location, { workTree: root, index }, signal);
  try {
    await git.run(["read-tree", base]);
    const rows = changes.map(({ path, to }) =>
      to === undefined ? `0 ${"0".repeat(40)}\t${path}` : `${to.mode} ${to.id}\t${path}`,
    );
    await git.run(["update-index", "-z", "--index-info"], rows.map((row) => `${row}\0`).join(""));
    return (await git.run(["write-tree"])).trim();
  } finally {
    await rm(join(location.folder, index), { force: true });
  }
}
