import { readFileSync, statSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname } from "node:path";
import { constants, Script } from "node:vm";
import type * as Program from "./cli/run.ts";

type Body = (
  exports: object,
  require: NodeJS.Require,
  module: { exports: object },
  path: string,
  folder: string,
  lazily: (builtin: string) => object,
) => void;

/**
 * What is compiled ahead for one kind of commands is kept apart from that of the others: to read what a command does not
 * need would take half of the time that the rest saves.
 */
export const COMMAND_KINDS = ["sandbox", "kanban", "task"] as const;
export type CommandKind = (typeof COMMAND_KINDS)[number];

/** The kind of a command line; a wrong guess costs time and nothing else. */
export function kindOf([word]: readonly string[]): CommandKind {
  return COMMAND_KINDS.find((kind) => kind === word) ?? "task";
}

/**
 * Runs the bundled program, with the code that V8 compiled when it was built: compiling it anew takes longer than most
 * commands. V8 looks at its own version, but crashes with code of another Node that has the same one (20.19 and 20.20), so the
 * file's name holds the very binary; and the hash of the program, of whose source V8 compares no more than the length.
 */
export function loadProgram(
  path: string,
  kind: CommandKind,
): { readonly program: typeof Program; readonly script: Script } {
  const script = new Script(readFileSync(path, "latin1"), {
    filename: path,
    cachedData: readIfThere(compiledFile(path, kind)),
    importModuleDynamically: constants.USE_MAIN_CONTEXT_DEFAULT_LOADER,
  });
  const module = { exports: {} };
  const body = script.runInThisContext() as Body;
  const require = createRequire(path);
  const lazily = (builtin: string): object => new Proxy({}, { get: (_, name) => require(builtin)[name] });
  body(module.exports, require, module, path, dirname(path), lazily);
  return { program: module.exports as typeof Program, script };
}

/** Names the binary that runs us. scripts/setup.sh names it in the same way. */
export function nodeName(): string {
  const { size, mtimeMs } = statSync(process.execPath);
  return `${process.version}-${process.arch}-${size}-${Math.trunc(mtimeMs)}`;
}

/** Where the code is that this Node compiled for a program. */
export function compiledFile(path: string, kind: CommandKind): string {
  return `${path}.${nodeName()}.${kind}.compiled`;
}

function readIfThere(path: string): Buffer | undefined {
  try {
    return readFileSync(path);
  } catch {
    return undefined; // built by another Node: it is compiled as it is needed
  }
}
