import type { Invocation } from "../shell-reader/invocation.ts";

/** The launcher, the bundled program and its sources, under any folder. */
const OWN_PROGRAM = /(?:^|\/)(?:hermes(?:-agent)?(?:@[\w.-]+)?(?:\.\w+)?|main\.cjs|src\/main\.ts)$/i;
/** Programs that run the script or the package that one of their words names. */
export const RUNNERS =
  /^(?:node(?:js)?|bun|bunx|deno|tsx|ts-node|npx|pnpx|npm|pnpm|yarn|corepack|sh|bash|dash|zsh|ksh|source|\.)$/;
/** The words that Hermes gets from an invocation; undefined if it runs another program. */
export function ownArguments({ name, program, args }: Invocation): readonly string[] | undefined {
  if (OWN_PROGRAM.test(program) || name === "hermes") return args;
  if (!RUNNERS.test(name)) return undefined;
  const at = args.findIndex((word) => OWN_PROGRAM.test(word));
  return at < 0 ? undefined : args.slice(at + 1);
}
