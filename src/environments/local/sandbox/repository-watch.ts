import { join } from "node:path";
import { findNestedRepositories, findPlantedCode } from "./nested-repositories.ts";

/** A command may remove a repository, or make it unreadable, during the search. */
const unlessGone = (): undefined => undefined;

export interface RepositoryWatch extends AsyncDisposable {
  /** Returns the new findings and starts another search, which runs while the next command does. */
  takeFindings(): string[];
}

/** Searching takes at most this share of the time. */
const SEARCH_SHARE = 0.05;

/**
 * Searches the projects for repositories that commands created and whose hooks or settings would run programs outside the
 * sandbox. `onFound` receives each finding once. Disposing searches a last time.
 */
export function watchRepositories(
  projects: readonly string[],
  guarded: readonly string[],
  onFound: (text: string) => void,
): RepositoryWatch {
  const known = new Set(guarded);
  const reported = new Set<string>();
  const unread: string[] = [];
  let searching: Promise<void> | undefined;
  let mayStartAt = 0;

  async function search(): Promise<void> {
    const startedAt = performance.now();
    for (const project of projects)
      for (const path of await findNestedRepositories(project)) {
        if (known.has(path) || reported.has(path)) continue;
        const problem = await findPlantedCode(path, join(project, ".git")).catch(unlessGone);
        if (problem === undefined) continue; // checked again, because a command may change it later
        reported.add(path);
        const text = `A command in the sandbox created ${path}, which ${problem}. Git outside the sandbox would obey it, even in a parent folder. The user should inspect it before running git.`;
        unread.push(text);
        onFound(text);
      }
    const endedAt = performance.now();
    mayStartAt = endedAt + (endedAt - startedAt) / SEARCH_SHARE;
  }

  return {
    takeFindings() {
      if (searching === undefined && performance.now() >= mayStartAt)
        searching = search().finally(() => {
          searching = undefined;
        });
      return unread.splice(0);
    },
    async [Symbol.asyncDispose]() {
      await searching;
      await search();
    },
  };
}
