import { z } from "zod";

declare module "zod" {
  interface GlobalMeta {
    /** The value comes only from `.env` or the environment and is never shown. */
    secret?: boolean;
    /** The variable that overrides the key, if it does not follow from the path. */
    env?: string;
    /** Values of `terminal.backend` that use the key; with other values a bad value does not stop the program. */
    usedBy?: readonly string[];
  }
}

/**
 * The only list of settings: paths, variables, flags, reference page and editor schema are derived from it. A section is loaded
 * when one of its values must be validated, because loading all sections takes as long as a short command.
 */
const SECTIONS = {
  model: async () => (await import("../providers/options.ts")).modelOptions.prefault({}),
  providers: async () => (await import("../providers/options.ts")).providersOption,
  model_catalog: async () => (await import("../providers/options.ts")).modelCatalogOptions.prefault({}),
  fallback_providers: async () => (await import("../providers/options.ts")).fallbackProvidersOption,
  credential_pool_strategies: async () => (await import("../providers/options.ts")).poolStrategiesOption,
  agent: async () => (await import("../agent/options.ts")).agentOptions.prefault({}),
  compression: async () => (await import("../agent/options.ts")).compressionOptions.prefault({}),
  auxiliary: async () => (await import("../agent/options.ts")).auxiliaryOptions.prefault({}),
  context_file_max_chars: async () => (await import("../agent/options.ts")).contextFileMaxChars,
  checkpoints: async () => (await import("../checkpoints/options.ts")).checkpointOptions.prefault({}),
  approvals: async () => (await import("../policy/options.ts")).approvalsOptions.prefault({}),
  terminal: async () => (await import("../environments/options.ts")).terminalOptions.prefault({}),
  security: async () => (await import("../context/options.ts")).securityOptions.prefault({}),
  tool_output: async () =>
    (await import("../environments/tool-output-options.ts")).toolOutputOptions.prefault({}),
  kanban: async () => (await import("../board/options.ts")).kanbanOptions.prefault({}),
  gateway: async () => (await import("../gateway/options.ts")).gatewayOptions.prefault({}),
  session_reset: async () => (await import("../gateway/options.ts")).sessionResetOptions.prefault({}),
  streaming: async () => (await import("../gateway/options.ts")).streamingOptions.prefault({}),
  platforms: async () => (await import("../gateway/options.ts")).platformsOptions.prefault({}),
  api_server: async () => (await import("../api/options.ts")).apiServerOptions.prefault({}),
  dashboard: async () => (await import("../api/options.ts")).dashboardOptions.prefault({}),
  display: async () => (await import("../cli/chat/options.ts")).displayOptions.prefault({}),
  logging: async () => (await import("../lib/log/options.ts")).loggingOptions.prefault({}),
};

type Section = keyof typeof SECTIONS;
export type Config = { [Name in Section]: z.infer<Awaited<ReturnType<(typeof SECTIONS)[Name]>>> };

/** Loads the schemas of the named sections, by default of all. */
export async function loadSections(
  names: Iterable<string> = Object.keys(SECTIONS),
): Promise<ReadonlyMap<string, z.ZodType>> {
  const loading = [...names].map(async (name) => [name, await SECTIONS[name as Section]()] as const);
  return new Map(await Promise.all(loading));
}

/** Removes the default, prefault and nullable wrappers of a schema. */
export function unwrapSchema(schema: z.ZodType): z.ZodType {
  if (schema instanceof z.ZodDefault || schema instanceof z.ZodPrefault || schema instanceof z.ZodNullable) {
    return unwrapSchema(schema.unwrap() as z.ZodType);
  }
  return schema;
}

/** The schema of one setting. */
export function schemaAt(sections: ReadonlyMap<string, z.ZodType>, path: readonly string[]): z.ZodType {
  const [section = "", ...steps] = path;
  return steps.reduce<z.ZodType>(
    (schema, step) => (unwrapSchema(schema) as z.ZodObject).shape[step] as z.ZodType,
    sections.get(section) as z.ZodType, // the caller has loaded the section
  );
}

/** The names of the fields of a map or list of objects. */
export function fieldNames(schema: z.ZodType): string[] {
  const inner = unwrapSchema(schema);
  if (inner instanceof z.ZodArray) return fieldNames(inner.element as z.ZodType);
  if (inner instanceof z.ZodRecord) return fieldNames(inner.valueType as z.ZodType);
  return inner instanceof z.ZodObject ? Object.keys(inner.shape) : [];
}
