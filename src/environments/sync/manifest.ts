import { createHash } from "node:crypto";
import { findPathProblem } from "./offered-file.ts";

/** The content and the mode of one copied file. */
export interface ManifestEntry {
  /** Undefined if a sync was interrupted and the content is unknown. */
  readonly digest: string | undefined;
  readonly mode: number;
}

/** The files of one owner in the environment, by target path. */
export type Manifest = ReadonlyMap<string, ManifestEntry>;

const HEAD = "hermes-sync 1";
/** Written before the first change and replaced after the last: it marks an interrupted sync. */
export const DIRTY_HEAD = `${HEAD} dirty`;

/** Returns the first line, which contains a digest of the manifest, and the whole text. */
export function formatManifest(manifest: Manifest): { readonly head: string; readonly text: string } {
  const lines = [...manifest]
    .map(([path, { digest, mode }]) => `${digest} ${mode.toString(8).padStart(4, "0")} ${path}\n`)
    .sort();
  const head = `${HEAD} ${createHash("sha256").update(lines.join("")).digest("hex")}`;
  return { head, text: [`${head}\n`, ...lines].join("") };
}

/** Parses the manifest of the environment; invalid lines are ignored. */
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

/** The files to write and to remove in the environment, sorted by path. */
export function compareManifests(wanted: Manifest, present: Manifest) {
  const isPresent = ([path, { digest, mode }]: readonly [string, ManifestEntry]): boolean => {
    const found = present.get(path);
    return found !== undefined && found.digest === digest && found.mode === mode;
  };
  return {
    puts: [...wanted].flatMap((entry) => (isPresent(entry) ? [] : [entry[0]])).sort(),
    drops: [...present.keys()].filter((path) => !wanted.has(path)).sort(),
  };
}
