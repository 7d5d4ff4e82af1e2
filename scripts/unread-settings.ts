import { readFileSync } from "node:fs";
import { join } from "node:path";
import { transformSync } from "esbuild";
import { z } from "zod";
import { configKeys, unwrapSchema } from "../src/config/keys.ts";
import { readModules } from "./imports.ts";

/**
 * Settings that no module of the program reads. The program is what `entry` reaches through imports; the schema
 * itself and the loader do not count. A setting counts as read when its name is a property, or a string of its own,
 * in code without types and comments. A name of one common word (`cwd`) can be mistaken for another property.
 */
export function findUnreadSettings(
  source: string,
  entry: string,
  settings: readonly { readonly key: string; readonly name: string }[],
): string[] {
  const names = [...new Set(settings.map(({ name }) => name))];
  const read = new Set(
    reachableFrom(entry, readModules(source))
      .filter((path) => !/(^|\/)(tool-output-)?options\.ts$/.test(path) && !path.startsWith("config/"))
      .flatMap((path) => namesIn(readFileSync(join(source, path), "utf8"), names)),
  );
  return settings.filter(({ name }) => !read.has(name)).map(({ key }) => key);
}

/** Every setting, with the fields of maps and lists, and the name by which code reads it. */
export function settingNames(): { key: string; name: string }[] {
  return configKeys().flatMap(({ key, path, schema }) => [
    { key, name: path.at(-1) ?? key },
    ...fieldNames(schema).map((field) => ({ key: `${key}.*.${field}`, name: field })),
  ]);
}

function fieldNames(schema: z.ZodType): string[] {
  const inner = unwrapSchema(schema);
  if (inner instanceof z.ZodArray) return fieldNames(inner.element as z.ZodType);
  if (inner instanceof z.ZodRecord) return fieldNames(inner.valueType as z.ZodType);
  return inner instanceof z.ZodObject ? Object.keys(inner.shape) : [];
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
  // esbuild lists the properties that it was asked to rename: an exact answer, whatever the code looks like.
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
