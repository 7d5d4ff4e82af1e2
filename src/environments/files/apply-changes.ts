import type { TargetPath } from "../environment.ts";
import type { EnvironmentFiles } from "./environment-files.ts";
import { type FileProblem, isFileProblem } from "./file-problem.ts";
import type { TextFormat } from "./text-format.ts";

/** A file before the change; `text` and `bytes` are undefined if the file does not exist. */
export interface FileState {
  /** The requested path. */
  readonly requestedPath: TargetPath;
  /** The resolved path. */
  readonly path: TargetPath;
  readonly text: string | undefined;
  readonly bytes: Uint8Array | undefined;
  /** The digest of the content, or `absent`. */
  readonly digest: string;
  readonly format: TextFormat;
  readonly mode: number | undefined;
}

/** The change of one file, with all data to apply and to revert it. */
export interface PlannedChange {
  readonly kind: "add" | "update" | "delete" | "move";
  readonly from: FileState;
  /** Differs from `from` only for a move. */
  readonly to: FileState;
  /** The new content; unused for a deleted file. */
  readonly bytes: Uint8Array;
  readonly diff: string;
}

export interface AppliedChange {
  readonly kind: PlannedChange["kind"];
  /** The requested path. */
  readonly path: TargetPath;
  /** The absolute path with links resolved. */
  readonly realPath: TargetPath;
  /** The previous path of a moved file. */
  readonly movedFrom: TargetPath | undefined;
  /** The digest of the new content; undefined if the file was removed. */
  readonly digest: string | undefined;
  /** The digest of the previous content, to compare with the content that the model read. */
  readonly digestBefore: string | undefined;
  readonly diff: string;
}

/** Long enough for a slow environment, short enough for a waiting user. */
const FINISH_WITHIN_MS = 300_000;

/**
 * Applies all changes, or reverts those already applied. Every file must still have the content that the plan is based on.
 * Additions and updates come first and removals last, so that every content exists in at least one file at any time.
 * `signal` is checked only at the start: an abort does not interrupt the changes.
 */
export async function applyChanges(
  files: EnvironmentFiles,
  plans: readonly PlannedChange[],
  signal: AbortSignal,
): Promise<{ readonly changes: readonly AppliedChange[]; readonly problem: FileProblem | undefined }> {
  signal.throwIfAborted();
  const deadline = AbortSignal.timeout(FINISH_WITHIN_MS);
  const done: { readonly change: AppliedChange; readonly undo: () => Promise<boolean> }[] = [];

  const steps = [
    ...plans.filter((plan) => plan.kind !== "delete").map((plan) => () => write(plan)),
    ...plans.filter((plan) => plan.kind === "move").map((plan) => () => removePrevious(plan)),
    ...plans.filter((plan) => plan.kind === "delete").map((plan) => () => removePrevious(plan)),
  ];

  async function write(plan: PlannedChange): Promise<FileProblem | undefined> {
    const { kind, from, to, bytes } = plan;
    const mode = kind === "move" ? from.mode : undefined;
    const written = await files.write(to.path, bytes, { expected: to.digest, mode }, deadline);
    if (written.kind !== "written") return written;
    const { path, digest } = written;
    const undo = async () => {
      const reverted =
        kind === "update" && from.bytes !== undefined
          ? await files.write(path, from.bytes, { expected: digest }, deadline)
          : await files.remove(path, { expected: digest }, deadline);
      return !isFileProblem(reverted);
    };
    done.push({ change: describe(plan, digest), undo });
    return undefined;
  }

  async function removePrevious(plan: PlannedChange): Promise<FileProblem | undefined> {
    const { path, digest, bytes, mode } = plan.from;
    const removed = await files.remove(path, { expected: digest }, deadline);
    if (removed.kind !== "removed") return removed;
    const undo = async () =>
      bytes !== undefined &&
      !isFileProblem(await files.write(path, bytes, { expected: "absent", mode }, deadline));
    // The removal completes a move that is already in `done`.
    const index = done.findIndex(
      ({ change }) => plan.kind === "move" && change.path === plan.to.requestedPath,
    );
    const first = done[index];
    if (first === undefined) done.push({ change: describe(plan, undefined), undo });
    else done[index] = { change: first.change, undo: async () => (await undo()) && first.undo() };
    return undefined;
  }

  for (const step of steps) {
    const problem = await step();
    if (problem === undefined) continue;
    const notReverted: AppliedChange[] = [];
    for (const { change, undo } of done.toReversed()) if (!(await undo())) notReverted.unshift(change);
    return { changes: notReverted, problem };
  }
  return { changes: done.map(({ change }) => change), problem: undefined };
}

function describe({ kind, from, to, diff }: PlannedChange, digest: string | undefined): AppliedChange {
  return {
    kind,
    path: to.requestedPath,
    realPath: to.path,
    movedFrom: kind === "move" ? from.requestedPath : undefined,
    digest,
    digestBefore: from.bytes === undefined ? undefined : from.digest,
    diff,
  };
}
