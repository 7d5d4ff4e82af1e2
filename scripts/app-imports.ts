import { readFileSync } from "node:fs";
import { join } from "node:path";
import { findCycles, readModules } from "./imports.ts";

/** Which folder of the browser app may import which, by the first folder below dashboard/src/. */
const ALLOWED: Record<string, readonly string[]> = {
  words: [],
  components: ["words"],
  data: ["words"],
  shell: ["words", "components", "data"],
  // Shows the turns of a session; the pages of sessions and of the chat share it.
  transcript: ["words", "components", "data"],
  terminal: ["words", "components", "data"],
  pages: ["words", "components", "data", "shell", "transcript", "terminal"],
  "main.tsx": ["app.tsx", "words"],
  "app.tsx": ["words", "components", "data", "shell", "transcript", "pages"],
};
const CONTRACT = "../../src/api/contract/";

/**
 * Returns every violation of the table and every import cycle of the browser app. From the rest of the project, the app may
 * import only types of the contract, so that no schema library reaches the browser. A page may not import another page.
 */
export function findAppBreaches(source: string): string[] {
  const modules = readModules(source);
  return [
    ...modules.flatMap(({ path, imports }) => [
      ...imports.flatMap((target) => breachOf(path, target)),
      ...valuesOfContract(source, path),
    ]),
    ...findCycles(modules),
  ];
}

function breachOf(path: string, target: string): string[] {
  const [from = "", page] = path.split("/");
  const [to = "", otherPage] = target.split("/");
  const allowed = ALLOWED[from];
  if (!allowed) return [`${path}: ${from} is not a folder of the app; add it to scripts/app-imports.ts`];
  if (target.startsWith("..")) {
    return target.startsWith(CONTRACT) ? [] : [`${path} reaches outside the app: ${target}`];
  }
  const isOwn = from === to && (from !== "pages" || page === otherPage);
  const isFile = !target.includes("/"); // such as main.tsx's own style sheets
  return isOwn || allowed.includes(to) || (!path.includes("/") && isFile)
    ? []
    : [`${path} may not import ${target}`];
}

/** Imports of the contract that are not `import type`. */
function valuesOfContract(source: string, path: string): string[] {
  const lines = readFileSync(join(source, path), "utf8").matchAll(
    /^(?:import|export)\s(?!type\b)[^;]*?["'][^"']*\/api\/contract\/[^"']*["']/gm,
  );
  return [...lines].map(() => `${path} imports more than types of the contract`);
}
