import type { ConfigKey } from "./config-keys.ts";
import type { YamlFile } from "./files/yaml-file.ts";
import type { Config } from "./schema.ts";
import type { Problem } from "./setting-problem.ts";

export type Origin = "flag" | "env" | "file" | "default";

/** What one layer sets for a key: a value, or a problem with it. */
export interface LayerValue {
  readonly origin: Exclude<Origin, "default">;
  /** A flag, a variable, or file:line:column. */
  readonly where: string;
  /** Whether it comes from a file of the profile and so applies to every run. */
  readonly isStored: boolean;
  readonly value?: unknown;
  readonly problem?: string;
}

/** The effective value of one key, and the values of all layers, highest priority first. */
export interface Setting {
  readonly key: ConfigKey;
  readonly value: unknown;
  readonly origin: Origin;
  readonly layerValues: readonly LayerValue[];
}

/** The layers above the defaults, with the location of each value. */
export interface Layers {
  readonly flags: ReadonlyMap<string, string>;
  /** Variables, highest priority first: the real environment, then the profile's `.env`. */
  readonly environments: readonly {
    readonly isStored: boolean;
    readonly find: (name: string) => { value: string; where: string } | undefined;
  }[];
  readonly file: { readonly path: string; readonly yaml: YamlFile } | undefined;
  /** The file of the root home, if this is another profile; only its `SHARED_KEYS` apply. */
  readonly rootFile?: Layers["file"];
}

/** Settings of the boards, which profiles share: a profile that does not set them uses those of the root home. */
export const SHARED_KEYS: ReadonlySet<string> = new Set([
  "kanban.database_url",
  "kanban.shared_attachments_mb",
]);

export interface ResolvedConfig {
  readonly config: Config;
  readonly settings: ReadonlyMap<string, Setting>;
  readonly problems: readonly Problem[];
}

/** Whether any layer sets a key. */
export function isSetByLayer(key: ConfigKey, { flags, environments, file, rootFile }: Layers): boolean {
  return (
    flags.has(key.key) ||
    key.env.some((name) => environments.some((environment) => environment.find(name) !== undefined)) ||
    file?.yaml.find(key.path) !== undefined ||
    (SHARED_KEYS.has(key.key) && rootFile?.yaml.find(key.path) !== undefined)
  );
}

/** The configuration when no layer sets anything. */
export function defaultConfig(keys: readonly ConfigKey[]): ResolvedConfig {
  const settings = new Map(
    keys.map((key) => [key.key, { key, value: key.default, origin: "default", layerValues: [] }] as const),
  );
  return { config: assembleConfig(settings), settings, problems: [] };
}

/** Builds one nested object from the settings, with each value at its path. */
export function assembleConfig(settings: ReadonlyMap<string, Setting>): Config {
  const root: Record<string, unknown> = {};
  for (const { key, value } of settings.values()) {
    let node = root;
    for (const step of key.path.slice(0, -1)) {
      node[step] ??= {};
      node = node[step] as Record<string, unknown>;
    }
    node[key.path.at(-1) ?? ""] = value;
  }
  return root as Config; // safe: each leaf was parsed by its own schema and is at its own path
}
