import { headOf } from "../../lib/text/shorten.ts";

const MAX_SOURCES = 50;
const MAX_SOURCE_CHARS = 120;
const SHOWN = 3;

/** Where text in a conversation comes from that neither the user nor the project wrote. */
export interface UntrustedSources {
  list(): readonly string[];
  /** A source is a name for display, such as an address or a command. */
  add(source: string): void;
  /** Replaces the stored sources, when a turn starts. Sources that are not stored yet are kept. */
  load(stored: readonly string[]): void;
  /** Returns the sources that are not stored yet, and marks them as stored. The caller stores them with its next event. */
  takeNew(): readonly string[];
}

export function createUntrustedSources(): UntrustedSources {
  let stored: readonly string[] = [];
  let added = new Set<string>();
  const list = (): readonly string[] => [...new Set([...stored, ...added])];
  return {
    list,
    add(source) {
      const line = headOf(source.replace(/[\p{C}\s]+/gu, " ").trim(), MAX_SOURCE_CHARS);
      if (list().length < MAX_SOURCES && !stored.includes(line)) added.add(line);
    },
    load(next) {
      stored = next;
    },
    takeNew() {
      const taken = [...added];
      stored = list();
      added = new Set();
      return taken;
    },
  };
}

/** The sources in one line, for a reason. */
export function formatSources(sources: readonly string[]): string {
  const more = sources.length - SHOWN;
  return `${sources.slice(0, SHOWN).join("; ")}${more > 0 ? `; and ${more} more` : ""}`;
}
