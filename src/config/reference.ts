import { z } from "zod";
import { type ConfigKey, configKeys } from "./keys.ts";
import { expectation } from "./read-text.ts";
import { configSchema } from "./schema.ts";

/** JSON Schema of config.yaml for editors. Secrets are left out: they may not stand in that file. */
export function jsonSchema(): object {
  const schema = z.toJSONSchema(configSchema, {
    io: "input",
    unrepresentable: "any",
    override({ jsonSchema: node, zodSchema }) {
      delete node["usedBy"];
      delete node["env"];
      if (!(zodSchema instanceof z.ZodObject) || !node.properties) return;
      for (const [name, child] of Object.entries(node.properties)) {
        if (typeof child === "object" && child["secret"]) delete node.properties[name];
      }
    },
  });
  return { ...schema, title: "Hermes config.yaml" };
}

/** The reference page: every setting by section. */
export function referencePage(): string {
  const sections = groupBySection(configKeys());
  const pages = [...sections].map(([name, keys]) => [`## ${name}`, "", ...keys.map(entry)].join("\n"));
  return `${INTRODUCTION}\n${pages.join("\n\n")}\n`;
}

const INTRODUCTION = `# Settings

Generated from the schema by \`npm run generate\`; do not edit.

A setting comes from the strongest layer that speaks of it: flag, then environment variable (the real environment,
then \`.env\` of the profile), then \`config.yaml\` of the profile, then its default. \`hermes config explain KEY\` shows
every layer. In variables and flags booleans are true/1/yes/on or false/0/no/off, lists and maps are JSON, text is
taken as it is. Secrets are read from variables and \`.env\` only.
`;

function groupBySection(keys: readonly ConfigKey[]): Map<string, ConfigKey[]> {
  const sections = new Map<string, ConfigKey[]>();
  for (const key of keys) {
    const name = key.path[0] ?? "";
    sections.set(name, [...(sections.get(name) ?? []), key]);
  }
  return sections;
}

function entry(key: ConfigKey): string {
  const standard = key.secret ? "none (secret)" : `\`${JSON.stringify(key.default)}\``;
  const only = key.usedBy ? ` Used when \`terminal.backend\` is ${key.usedBy.join(" or ")}.` : "";
  return `- **\`${key.key}\`**: ${key.description}.${only}\n  Takes ${expectation(key)}. Default: ${standard}. Variable: \`${key.env[0]}\`.`;
}
