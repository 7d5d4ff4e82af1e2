import { createHash } from "node:crypto";
import { findPathProblem } from "./offered-file.ts";

/** What a file is, as far as the far side needs to know. */
export interface ManifestEntry {
  /** Undefined when the far side is not sure any more. */
  readonly digest: string | undefined;
  readonly mode: number;
}

/** What one owner has put on the far side, by target path. */
export type Manifest = ReadonlyMap<string, ManifestEntry>;

/** What has to happen on the far side, in the order of paths. */
export interface Difference {
  readonly puts: readonly string[];
  readonly drops: readonly string[];
}

const HEAD = "hermes-sync 1";
/** Written before the first change and replaced after the last: who finds it, finds a job half done. */
export const DIRTY_HEAD = `${HEAD} dirty`;

/** The first line, which two manifests share only when they are the same, and all lines. */
export function formatManifest(manifest: Manifest): { readonly head: string; readonly text: string } {
  const lines = [...manifest]
    .map(([path, { digest, mode }]) => `${digest} ${mode.toString(8).padStart(4, "0")} ${path}\n`)
    .sort();
  const head = `${HEAD} ${createHash("sha256").update(lines.join("")).digest("hex")}`;
  return { head, text: [`${head}\n`, ...lines].join("") };
}

/** Reads what the far side sent; a line that makes no sense is none. */
export function parseManifest(text: string): { readonly head: string; readonly manifest: Manifest } {
  const [head = "", ...lines] = text.split("\n");
  const manifest = new Map<string, ManifestEntry>();
  for (const line of lines) {
    const [, digest, mode = "", path = ""] = line.match(/^([0-9a-f]{64}) ([0-7]{4}) (.+)$/) ?? [];
    if (findPathProblem(path) !== undefined) continue;
    manifest.set(path, { digest: head === DIRTY_HEAD ? undefined : digest, mode: Number.parseInt(mode, 8) });
  }
  return { head, manifest };
}

export function compareManifests(wanted: Manifest, present: Manifest): Difference {
  const isThere = ([path, { digest, mode }]: readonly [string, ManifestEntry]): boolean => {
    const found = present.get(path);
    return found !== undefined && found.digest === digest && found.mode === mode;
  };
  return {
    puts: [...wanted]
      .filter((entry) => !isThere(entry))
      .map(([path]) => path)
      .sort(),
    drops: [...present.keys()].filter((path) => !wanted.has(path)).sort(),
  };
}
