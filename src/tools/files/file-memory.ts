import type { TargetPath } from "../../environments/environment.ts";

const MOST = 1_000;

/** What a session has seen of files, by their digests: to spare it the same page again, and to notice others' changes. */
export interface FileMemory {
  /** Whether this page of this content was shown before; it counts as shown from now on. */
  wasShown(path: TargetPath, page: string, digest: string): boolean;
  /** The content that the session knows; undefined when it has not seen the file. */
  known(path: TargetPath): string | undefined;
  /** The session has read or written this content. */
  note(path: TargetPath, digest: string | undefined): void;
}

export function createFileMemory(): FileMemory {
  const contents = new Map<TargetPath, string>();
  const pages = new Map<string, string>();
  return {
    wasShown(path, page, digest) {
      const key = `${page} ${path}`;
      const wasShown = pages.get(key) === digest;
      remember(pages, key, digest);
      return wasShown;
    },
    known: (path) => contents.get(path),
    note(path, digest) {
      if (digest === undefined) contents.delete(path);
      else remember(contents, path, digest);
    },
  };
}

/** Forgets the oldest when it has too many. */
function remember(map: Map<string, string>, key: string, value: string): void {
  map.delete(key);
  map.set(key, value);
  const oldest = map.size > MOST ? map.keys().next().value : undefined;
  if (oldest !== undefined) map.delete(oldest);
}
