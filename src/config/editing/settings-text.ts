import { createHash } from "node:crypto";
import { configKeys } from "../config-keys.ts";
import { parseYamlFile } from "../files/yaml-file.ts";
import { resolveConfig } from "../resolve-config.ts";
import type { Problem } from "../setting-problem.ts";

/** The problems that config.yaml would have with this text. `path` is only part of their locations. */
export async function problemsOfText(path: string, text: string): Promise<readonly Problem[]> {
  const file = { path, yaml: parseYamlFile(text) };
  return (await resolveConfig(configKeys(), { flags: new Map(), environments: [], file })).problems;
}

/** Identifies the text of config.yaml that an edit is based on. */
export function versionOf(text: string): string {
  return createHash("sha256").update(text).digest("hex").slice(0, 16);
}
