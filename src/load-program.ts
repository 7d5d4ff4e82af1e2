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
 * Runs the bundled program, with the code that V8 compiled when it was built: compiling it anew takes longer than most
 * commands. V8 refuses code of another version by itself, and the file's name holds that version and the content's hash.
 */
export function loadProgram(path: string): { readonly program: typeof Program; readonly script: Script } {
  const script = new Script(readFileSync(path, "latin1"), {
    filename: path,
    cachedData: readIfThere(compiledFile(path)),
    importModuleDynamically: constants.USE_MAIN_CONTEXT_DEFAULT_LOADER,
  });
  const module = { exports: {} };
  const body = script.runInThisContext() as Body;
  body(module.exports, createRequire(path), module, path, dirname(path));
  return { program: module.exports as typeof Program, script };
}

/** Where the compiled code of a program is, for this very version of V8. */
export function compiledFile(path: string): string {
  return `${path}.${cachedDataVersionTag()}.compiled`;
}

function readIfThere(path: string): Buffer | undefined {
  try {
    return readFileSync(path);
  } catch {
    return undefined; // built for another version: it is compiled as it is needed
  }
}
