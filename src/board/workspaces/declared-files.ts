import { z } from "zod";
import type { Run } from "../task.ts";

/** An artifact as the metadata of a completed run names it. */
export interface DeclaredArtifact {
  /** In the workspace, relative to it. */
  readonly path: string;
  /** Name of the attachment that holds its copy. */
  readonly attachment: string;
}

const metadataSchema = z.object({
  artifacts: z.array(z.object({ path: z.string(), attachment: z.string() })),
});

/** The artifacts that the metadata of a hand-over names. */
export function artifactsIn(metadata: Run["metadata"] | undefined): readonly DeclaredArtifact[] {
  const parsed = metadataSchema.safeParse(metadata);
  return parsed.success ? parsed.data.artifacts : [];
}

/** The files of a workspace that its runs have handed over. */
export function declaredFiles(runs: readonly Run[]): ReadonlySet<string> {
  return new Set(runs.flatMap(({ metadata }) => artifactsIn(metadata).map(({ path }) => path)));
}
