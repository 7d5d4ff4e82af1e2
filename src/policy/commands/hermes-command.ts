import type { Invocation } from "../shell-reader/invocation.ts";
import { operandsOf } from "./arguments.ts";

/** The launcher, the bundled program and its entry file, in any folder. */
const HERMES_PROGRAM = /(?:^|\/)(?:hermes(?:-agent)?(?:@[\w.-]+)?(?:\.\w+)?|main\.cjs|src\/main\.ts)$/i;
/** Programs that run the script or package named in their arguments. */
export const RUNNERS =
  /^(?:node(?:js)?|bun|bunx|deno|tsx|ts-node|npx|pnpx|npm|pnpm|yarn|corepack|sh|bash|dash|zsh|ksh|source|\.)$/;
/** The arguments that Hermes gets from an invocation; undefined if the invocation does not run Hermes. */
export function hermesArguments({ name, program, args }: Invocation): readonly string[] | undefined {
  if (HERMES_PROGRAM.test(program) || name === "hermes") return args;
  if (!RUNNERS.test(name)) return undefined;
  const at = args.findIndex((word) => HERMES_PROGRAM.test(word));
  return at < 0 ? undefined : args.slice(at + 1);
}

/** The command of Hermes that an invocation runs, such as `kanban create`; undefined if it does not run Hermes. */
export function hermesCommand(
  invocation: Invocation,
): { readonly noun: string; readonly verb: string } | undefined {
  const own = hermesArguments(invocation);
  if (own === undefined) return undefined;
  const [noun = "", verb = ""] = operandsOf(own, VALUED_OPTIONS);
  return { noun, verb };
}

/** Options that may precede the noun and take the next argument as their value. */
const VALUED_OPTIONS = /^(?:-p|-m|--profile|--model|--provider|--board)$/;
