import { readFileSync } from "node:fs";
import { join } from "node:path";
import { transformSync } from "esbuild";
import { configKeys } from "../src/config/config-keys.ts";
import { fieldNames, loadSections, schemaAt } from "../src/config/schema.ts";
import { readModules } from "./imports.ts";

/**
 * Finds the settings that no module of the program reads. The program is everything that `entry` imports, directly or indirectly,
 * except the schema and the loader. A setting counts as read if its name is a property or a whole string in the code, without types
 * and comments. A name that is a common word (`cwd`) can be confused with another property.
 */
export function findUnreadSettings(
  source: string,
  entry: string,
  settings: readonly { readonly key: string; readonly name: string }[],
): string[] {
  const names = [...new Set(settings.map(({ name }) => name))];
  const read = new Set(
    reachableFrom(entry, readModules(source))
      .filter((path) => !/(^|\/)([\w-]+-)?options\.ts$/.test(path) && !path.startsWith("config/"))
      .flatMap((path) => namesIn(readFileSync(join(source, path), "utf8"), names)),
  );
  return settings.filter(({ name }) => !read.has(name)).map(({ key }) => key);
}

/** Every setting, with the fields of maps and lists, and the name by which code reads it. */
export async function settingNames(): Promise<{ key: string; name: string }[]> {
  const sections = await loadSections();
  return configKeys().flatMap(({ key, path }) => [
    { key, name: path.at(-1) ?? key },
    ...fieldNames(schemaAt(sections, path)).map((field) => ({ key: `${key}.*.${field}`, name: field })),
  ]);
}

function reachableFrom(entry: string, modules: ReturnType<typeof readModules>): string[] {
  const imports = new Map(modules.map((module) => [module.path, module.imports]));
  const reached = new Set<string>();
  const waiting = [entry];
  for (let path = waiting.pop(); path !== undefined; path = waiting.pop()) {
    if (reached.has(path) || !imports.has(path)) continue;
    reached.add(path);
    waiting.push(...(imports.get(path) ?? []));
  }
  return [...reached];
}

function namesIn(code: string, names: readonly string[]): string[] {
  const pattern = new RegExp(`^(${names.join("|")})$`);
  // esbuild parses the code and reports which of these properties it contains.
  const { code: plain, mangleCache } = transformSync(code, {
    loader: "ts",
    mangleProps: pattern,
    mangleCache: {},
  });
  const strings = [...plain.matchAll(/"(\w+)"/g)].flatMap(([, text = ""]) =>
    pattern.test(text) ? text : [],
  );
  return [...Object.keys(mangleCache ?? {}), ...strings];
}
