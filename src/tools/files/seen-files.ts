import type { TargetPath } from "../../environments/environment.ts";

const MAX_ENTRIES = 1_000;

/** Digests of the file contents that a session has seen, to avoid repeated pages and to detect changes by other programs. */
export class SeenFiles {
  readonly #contents = new Map<TargetPath, string>();
  readonly #pages = new Map<string, string>();

  /** Whether this page of this content was shown before; marks it as shown. */
  wasShown(path: TargetPath, page: string, digest: string): boolean {
    const key = `${page} ${path}`;
    const wasShown = this.#pages.get(key) === digest;
    remember(this.#pages, key, digest);
    return wasShown;
  }

  /** The digest of the content that the session last saw; undefined if it has not seen the file. */
  known(path: TargetPath): string | undefined {
    return this.#contents.get(path);
  }

  /** Records that the session has read or written this content; undefined for a deleted file. */
  note(path: TargetPath, digest: string | undefined): void {
    if (digest === undefined) this.#contents.delete(path);
    else remember(this.#contents, path, digest);
  }
}

function remember(map: Map<string, string>, key: string, value: string): void {
  map.delete(key);
  map.set(key, value);
  const oldest = map.size > MAX_ENTRIES ? map.keys().next().value : undefined;
  if (oldest !== undefined) map.delete(oldest);
}
