import type { Run } from "../task.ts";

/** An artifact in the metadata of a completed run. */
export interface DeclaredArtifact {
  /** Relative to the workspace. */
  readonly path: string;
  /** The name of the attachment that holds a copy of the file. */
  readonly attachment: string;
}

/** The artifacts in the metadata of a run. */
export function artifactsIn(metadata: Run["metadata"] | undefined): readonly DeclaredArtifact[] {
  const artifacts: unknown = metadata?.["artifacts"];
  if (!Array.isArray(artifacts) || !artifacts.every(isArtifact)) return [];
  return artifacts.map(({ path, attachment }) => ({ path, attachment }));
}

function isArtifact(value: unknown): value is DeclaredArtifact {
  const { path, attachment } = (value ?? {}) as Partial<Record<keyof DeclaredArtifact, unknown>>;
  return typeof path === "string" && typeof attachment === "string";
}

/** The files of a workspace that its runs declared as artifacts. */
export function declaredFiles(runs: readonly Run[]): ReadonlySet<string> {
  return new Set(runs.flatMap(({ metadata }) => artifactsIn(metadata).map(({ path }) => path)));
}
