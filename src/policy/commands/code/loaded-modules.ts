import { join } from "node:path/posix";
import { valuesOfOption } from "../arguments.ts";
import type { CodeLanguage } from "./interpreters.ts";

const MAX_MODULES = 50;
const PYTHON_IMPORT = /^[ \t]*(?:from[ \t]+([\w.]{1,200})[ \t]+import|import[ \t]+([\w., \t]{1,200}))/gm;
const SCRIPT_IMPORT =
  /(?:\brequire\(\s{0,5}|\bfrom\s{0,5}|\bimport\s{0,5}\(?\s{0,5})["'](\.{0,2}\/[^"'\n]{1,200})["']/g;
const ENDINGS = ["", ".js", ".cjs", ".mjs", ".ts", ".json", "/index.js"];

/** The files that code may load as modules of its own, relative to `folder`. */
export function modulesLoadedBy(code: string, language: CodeLanguage, folder: string): readonly string[] {
  const found =
    language === "python"
      ? [...code.matchAll(PYTHON_IMPORT)].flatMap(([, from, names = ""]) =>
          (from ?? names).split(",").flatMap((name) => pythonFiles(name.trim().split(/\s/)[0] ?? "")),
        )
      : language === "javascript"
        ? [...code.matchAll(SCRIPT_IMPORT)].flatMap(([, name = ""]) => scriptFiles(name))
        : [];
  return found.slice(0, MAX_MODULES).map((path) => join(folder, path));
}

/** The files that an interpreter loads because of its arguments, which may omit the ending of a name. */
export function modulesInArguments(
  args: readonly string[],
  language: CodeLanguage,
  folder: string,
): readonly string[] {
  const found =
    language === "python"
      ? valuesOfOption(args, undefined, "-m").flatMap((name) => [
          ...pythonFiles(name),
          `${name.replaceAll(".", "/")}/__main__.py`,
        ])
      : language === "javascript"
        ? [
            ...valuesOfOption(args, undefined, "-r", "--require", "--import", "--loader"),
            ...args.filter((word) => !word.startsWith("-")).slice(0, 1),
          ].flatMap(scriptFiles)
        : [];
  return found.map((path) => (path.startsWith("/") ? path : join(folder, path)));
}

function pythonFiles(name: string): readonly string[] {
  const path = name.replace(/^\.+/, "").replaceAll(".", "/");
  return path === "" ? [] : [`${path}.py`, `${path}/__init__.py`];
}

function scriptFiles(name: string): readonly string[] {
  return ENDINGS.map((ending) => name + ending);
}
