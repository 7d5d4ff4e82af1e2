import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname } from "node:path";
import { cachedDataVersionTag } from "node:v8";
import { constants, Script } from "node:vm";
import type * as Program from "./cli/run.ts";

type Body = (
  exports: object,
  require: NodeJS.Require,
  module: { exports: object },
  path: string,
  folder: string,
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
 * commands. V8 refuses code of another version by itself, and the file's name holds that version and the content's hash.
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
  body(module.exports, createRequire(path), module, path, dirname(path));
  return { program: module.exports as typeof Program, script };
}

/** Where the compiled code of a program is, for this very version of V8. */
export function compiledFile(path: string, kind: CommandKind): string {
  return `${path}.${cachedDataVersionTag()}.${kind}`;
}

function readIfThere(path: string): Buffer | undefined {
  try {
    return readFileSync(path);
  } catch {
    return undefined; // built for another version: it is compiled as it is needed
  }
}
