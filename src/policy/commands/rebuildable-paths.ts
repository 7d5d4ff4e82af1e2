import type { Invocation } from "../shell-reader/invocation.ts";
import { UNKNOWN } from "../shell-reader/scope.ts";
import type { CommandFacts } from "./command-classes.ts";
import { locate, pathBelow } from "./sensitive-paths.ts";

/** Folders that tools create, and create again when they are missing. */
const REBUILDABLE_FOLDERS = new Set(
  `node_modules bower_components out dist build _build target coverage htmlcov .nyc_output .coverage __pycache__ .venv venv
  .pytest_cache .mypy_cache .ruff_cache .tox .nox .hypothesis .eggs .cache .parcel-cache .turbo .next .nuxt .output
  .svelte-kit .astro .vite .angular .docusaurus .expo .gradle .dart_tool .terraform .serverless .eslintcache
  storybook-static playwright-report test-results DerivedData .ipynb_checkpoints .vercel .netlify .wrangler .bundle Pods
  .cxx .rollup.cache .sass-cache .phpunit.cache .stack-work .elixir_ls _site .jekyll-cache`.split(/\s+/),
);
const REBUILDABLE_NAMES = /^(?:[\w.-]+\.egg-info|\*\.egg-info|cmake-build-[\w-]+)$/;
/** Files that a package manager writes again when they are missing. */
const LOCK_FILES =
  /^(?:package-lock\.json|npm-shrinkwrap\.json|yarn\.lock|pnpm-lock\.yaml|bun\.lockb?|poetry\.lock|uv\.lock|Pipfile\.lock|Cargo\.lock|composer\.lock|Gemfile\.lock|Podfile\.lock)$/;
const JUNK_FILES =
  /^(?:\*\.(?:py[co]|pyc|o|obj|class|swp|tmp|orig|rej|tsbuildinfo)|\*~|\.DS_Store|Thumbs\.db|\*\.py\[co\])$/;

/**
 * Whether removing this path loses nothing that matters: it is a folder of the project that a tool recreates, or has a fully
 * known name below /tmp.
 */
export function isRebuildable(path: string, { cwd }: Pick<Invocation, "cwd">, facts: CommandFacts): boolean {
  if (path.startsWith(UNKNOWN)) return false;
  const absolute = locate(path, cwd);
  // If the working folder is unknown, only the names in a relative path count.
  const inProject =
    pathBelow(absolute, facts.cwd) ?? (cwd === undefined ? pathBelow(absolute, `/${UNKNOWN}`) : undefined);
  if (inProject !== undefined) return isRebuildableIn(inProject.split("/"));
  const inTemp = pathBelow(absolute, "/tmp") ?? pathBelow(absolute, "/var/tmp");
  if (inTemp === undefined || `${facts.cwd}/`.startsWith(`${absolute}/`)) return false;
  return /^[\w.@%+=:,-]{3,}/.test(inTemp.split("/")[0] ?? "") && !/[*?[]/.test(inTemp.split("/")[0] ?? "");
}

/** Names of folders that contain build outputs in some projects and sources in others. */
const OUTPUT_NAMES =
  /^(?:bin|obj|lib|libs|output|outputs|generated|gen|release|debug|tmp|temp|log|logs|cache|.*[-_.]cache|bundle|artifacts?|reports?|results?|wheels|pkg|es|esm|cjs|umd|types|site)$/i;

/** Whether a path in the project has a name that is common for build outputs. It is one if git ignores it. */
export function mayBeOutput(path: string, { cwd }: Pick<Invocation, "cwd">, facts: CommandFacts): boolean {
  if (/[*?[{\uFFFC]/.test(path)) return false;
  const inProject = pathBelow(locate(path, cwd), facts.cwd);
  return inProject?.split("/").some((part) => OUTPUT_NAMES.test(part)) === true;
}

function isRebuildableIn(parts: readonly string[]): boolean {
  const last = parts.at(-1) ?? "";
  return (
    parts.some((part) => REBUILDABLE_FOLDERS.has(part) || REBUILDABLE_NAMES.test(part)) ||
    JUNK_FILES.test(last) ||
    LOCK_FILES.test(last)
  );
}
