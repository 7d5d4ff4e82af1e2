import { hasOption, operandsOf, subcommandOf, valuesOfOption } from "../commands/arguments.ts";
import type { Invocation } from "../shell-reader/invocation.ts";

/** Programs that download and run the package in their first operand. */
const RUNNERS = /^(?:npx|pnpx|bunx|uvx|pipx|uv)$/;
/** The verbs that run a package, for programs that have verbs. */
const RUNNER_VERBS: Readonly<Record<string, RegExp>> = { pipx: /^(?:run|install|inject)$/, uv: /^tool$/ };
/** Well-known tools of projects. An attacker gains nothing by making the agent run one of them. */
const PROJECT_TOOLS =
  /^(?:tsc|tsx|ts-node|typescript|vue-tsc|svelte-check|vitest|jest|mocha|ava|c8|nyc|playwright|cypress|eslint|prettier|biome|oxlint|stylelint|knip|publint|vite|webpack|rollup|esbuild|tsup|parcel|next|nuxt|astro|ng|nx|turbo|lerna|changeset|husky|lint-staged|concurrently|rimraf|prisma|drizzle-kit|tailwindcss|storybook|typedoc|serve|http-server|nodemon|pytest|ruff|black|mypy|pyright|isort|flake8|pre-commit|tox|nox)$/;
const SYSTEM_INSTALLERS = /^(?:snap|flatpak|zypper|port|pkg|emerge|choco|winget|scoop)$/;
/** The name of an image that is not an official one of Docker Hub. */
const FOREIGN_IMAGE = /^[a-z0-9][\w.-]*(?::\d+)?\/[\w./-]+(?:[:@][\w.:-]+)?$/;

/** Whether a program downloads what its arguments name, and runs or installs it. */
export function runsNamedPackage({ name, args }: Invocation): boolean {
  const { verb, rest } = subcommandOf(args);
  if (RUNNERS.test(name)) return runnerRunsPackage(name, args);
  if (SYSTEM_INSTALLERS.test(name)) return /^(?:install|in|add)$/.test(verb) && operandsOf(rest).length > 0;
  switch (name) {
    case "go":
      return verb === "run" && operandsOf(rest).some((word) => /^[\w-]+\.[\w.-]+\/.+@/.test(word));
    case "nix":
      return /^(?:run|shell|develop)$/.test(verb) && operandsOf(rest).some((word) => /[#:]/.test(word));
    case "dotnet":
      return /^(?:add|tool)$/.test(verb) && rest.some((word) => /^(?:package|install|update)$/.test(word));
    case "mvn":
      return args.some((word) => /(?:^|:)dependency(?:-plugin)?(?::[\w.]+)?:get$/.test(word));
    case "docker":
    case "podman":
      return (
        /^(?:run|create|container)$/.test(verb) && operandsOf(rest).some((word) => FOREIGN_IMAGE.test(word))
      );
    case "code":
    case "codium":
    case "cursor":
      return hasOption(args, /^--install-extension/);
    default:
      return false;
  }
}

function runnerRunsPackage(name: string, args: readonly string[]): boolean {
  const verbs = RUNNER_VERBS[name];
  const { verb, rest } = subcommandOf(args);
  if (verbs !== undefined && !verbs.test(verb)) return valuesOfOption(args, undefined, "--with").length > 0;
  // The options of the runner itself end at the first operand.
  const words = verbs === undefined ? args : rest.slice(verb === "tool" ? 1 : 0);
  const { verb: packageName, rest: packageArgs } = subcommandOf(words, VALUED);
  const runnerArgs = words.slice(0, words.length - packageArgs.length);
  if (hasOption(runnerArgs, /^--(?:no-install|no|offline)$/)) return false;
  const named = valuesOfOption(runnerArgs, name === "npx" ? "p" : undefined, "--package", "--from", "--with");
  return [...named, packageName].some((word) => word !== "" && !isProjectTool(word));
}

/** Options of runners that take a value. */
const VALUED = /^(?:-[pP]|--(?:package|from|with|python|spec|index-url))$/;

function isProjectTool(word: string): boolean {
  return /^\.{0,2}\//.test(word) || PROJECT_TOOLS.test(word.replace(/(?<=.)@[\w.^~-]*$/, ""));
}
