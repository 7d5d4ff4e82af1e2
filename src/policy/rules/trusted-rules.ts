import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { ensurePrivateFolder, readTextFile, writeFileAtomic } from "../../lib/files/files.ts";

/** Where a project keeps its rules, below its root. */
export const PROJECT_RULES = join(".hermes", "rules.yaml");

/**
 * The rule file of the project that contains a folder: the nearest one up to the root of its git repository. With `trusted`,
 * also finds a file that was trusted and then removed.
 */
export function findProjectRules(
  folder: string,
  trusted?: Pick<TrustedRules, "hasAny" | "isTrusted">,
): string | undefined {
  const isTrusted = trusted?.hasAny() ? trusted.isTrusted : () => false;
  for (let at = folder; ; at = dirname(at)) {
    const path = join(at, PROJECT_RULES);
    if (existsSync(path) || isTrusted(path)) return path;
    if (existsSync(join(at, ".git")) || dirname(at) === at) return undefined;
  }
}

/**
 * The rules that a person has trusted, stored as copies in the home. A change in the project has no effect until the file is
 * trusted again; until then the copy applies.
 */
export interface TrustedRules {
  load(path: string): Promise<string | undefined>;
  /** Whether any file was trusted. Checked first, because it saves the search in each folder. */
  hasAny(): boolean;
  /** Whether a version of the file was trusted. */
  isTrusted(path: string): boolean;
  trust(path: string, text: string): Promise<void>;
}

export function createTrustedRules(home: string): TrustedRules {
  const folder = join(home, "trusted-rules");
  const copyOf = (path: string): string =>
    join(folder, `${createHash("sha256").update(path).digest("hex").slice(0, 32)}.yaml`);
  return {
    load: (path) => readTextFile(copyOf(path)),
    hasAny: () => existsSync(folder),
    isTrusted: (path) => existsSync(copyOf(path)),
    async trust(path, text) {
      await ensurePrivateFolder(folder);
      await writeFileAtomic(copyOf(path), text);
    },
  };
}
