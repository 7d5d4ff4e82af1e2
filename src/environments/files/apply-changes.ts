import type { TargetPath } from "../environment.ts";
import type { EnvironmentFiles } from "./environment-files.ts";
import { type FileProblem, isFileProblem } from "./file-problem.ts";

interface Place {
  /** As it was asked for. */
  readonly asked: TargetPath;
  readonly path: TargetPath;
  /** The digest that it has before the change, or `absent`. */
  readonly expected: string;
}

interface Before {
  readonly bytes: Uint8Array;
  readonly digest: string;
  readonly mode: number | undefined;
}

/** One file's part of a change, with all that is needed to do it and to take it back. */
export type PlannedChange = Place & { readonly diff: string } & (
    | { readonly kind: "add" | "update"; readonly bytes: Uint8Array; readonly before: Before | undefined }
    | { readonly kind: "move"; readonly bytes: Uint8Array; readonly before: Before; readonly source: Place }
    | { readonly kind: "delete"; readonly before: Before }
  );

export interface AppliedChange {
  readonly kind: "add" | "update" | "delete" | "move";
  /** As it was asked for. */
  readonly path: TargetPath;
  /** Where it really lies, from the root on. */
  readonly real: TargetPath;
  /** The name that a moved file had. */
  readonly movedFrom: TargetPath | undefined;
  /** Of the new content; undefined when the file is gone. */
  readonly digest: string | undefined;
  /** Of the content that was changed, to be compared with what somebody read. */
  readonly digestBefore: string | undefined;
  readonly diff: string;
}

/** Long enough for a slow place, short enough for a person who waits. */
const FINISH_WITHIN_MS = 300_000;

/**
 * Does all changes, or takes back what it did. Every file must still be as it was planned with. What is added and changed
 * comes first and what is removed last, so that at no moment a content is nowhere. Once begun, it is not stopped halfway
 * by `signal`.
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
    ...plans.filter((plan) => plan.kind === "move").map((plan) => () => removeOld(plan)),
    ...plans.filter((plan) => plan.kind === "delete").map((plan) => () => removeOld(plan)),
  ];

  async function write(plan: PlannedChange): Promise<FileProblem | undefined> {
    if (plan.kind === "delete") return undefined;
    const mode = plan.kind === "move" ? plan.before.mode : undefined;
    const { path, expected } = plan;
    const written = await files.write(path, plan.bytes, { expected, mode }, deadline);
    if (written.kind !== "written") return written;
    const isNew = plan.kind !== "update";
    done.push({
      change: describe(plan, written.digest),
      undo: async () => {
        const now = { expected: written.digest };
        const back =
          isNew || plan.before === undefined
            ? await files.remove(written.path, now, deadline)
            : await files.write(written.path, plan.before.bytes, now, deadline);
        return !isFileProblem(back);
      },
    });
    return undefined;
  }

  async function removeOld(plan: PlannedChange): Promise<FileProblem | undefined> {
    if (plan.kind !== "delete" && plan.kind !== "move") return undefined;
    const { path, expected } = plan.kind === "move" ? plan.source : plan;
    const removed = await files.remove(path, { expected }, deadline);
    if (removed.kind !== "removed") return removed;
    const { bytes, mode } = plan.before;
    const undo = async () =>
      !isFileProblem(await files.write(path, bytes, { expected: "absent", mode }, deadline));
    // The second half of a move is no change of its own.
    const index = plan.kind === "move" ? done.findIndex(({ change }) => change.path === plan.asked) : -1;
    const first = done[index];
    if (first === undefined) done.push({ change: describe(plan, undefined), undo });
    else {
      const both = async () => (await undo()) && (await first.undo());
      done[index] = { change: first.change, undo: both };
    }
    return undefined;
  }

  for (const step of steps) {
    const problem = await step();
    if (problem === undefined) continue;
    const left: AppliedChange[] = [];
    for (const { change, undo } of done.toReversed()) if (!(await undo())) left.unshift(change);
    return { changes: left, problem };
  }
  return { changes: done.map(({ change }) => change), problem: undefined };
}

function describe(plan: PlannedChange, digest: string | undefined): AppliedChange {
  return {
    kind: plan.kind,
    path: plan.asked,
    real: plan.path,
    movedFrom: plan.kind === "move" ? plan.source.asked : undefined,
    digest,
    digestBefore: plan.before?.digest,
    diff: plan.diff,
  };
}
