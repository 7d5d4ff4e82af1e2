import { z } from "zod";

/** What a tool takes, as the model reads it: names, types, choices and bounds that say something, and no more. */
export function toolSchema(input: z.ZodObject, hidden: readonly string[] = []): Record<string, unknown> {
  const { $schema: _, ...schema } = z.toJSONSchema(input, {
    io: "input",
    override: ({ jsonSchema }) => tidy(jsonSchema),
  });
  for (const name of hidden) delete schema.properties?.[name];
  return schema;
}

/** Tokens of every request: a model needs no word for what is refused with advice anyway. */
function tidy(schema: z.core.JSONSchema.BaseSchema): void {
  delete schema.additionalProperties;
  delete schema.propertyNames;
  if (schema.minLength === 1) delete schema.minLength;
  if (schema.maximum === Number.MAX_SAFE_INTEGER) delete schema.maximum;
  if (schema.minimum === Number.MIN_SAFE_INTEGER) delete schema.minimum;
  // Left out means off or none in every tool; saying so again teaches nothing.
  const { default: value } = schema;
  if (value === false || value === "" || (Array.isArray(value) && value.length === 0)) delete schema.default;
}
