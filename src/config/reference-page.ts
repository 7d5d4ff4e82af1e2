import { z } from "zod";
import { type ConfigKey, configKeys } from "./config-keys.ts";
import { loadSections } from "./schema.ts";
import { describeExpectedText } from "./setting-text.ts";

/** JSON Schema of config.yaml for editors. Omits secrets, which that file must not contain. */
export async function createJsonSchema(): Promise<object> {
  const allSections = z.strictObject(Object.fromEntries(await loadSections()));
  const schema = z.toJSONSchema(allSections, {
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

/** Renders the reference page: every setting by section. */
export function renderReferencePage(): string {
  const sections = groupBySection(configKeys());
  const pages = [...sections].map(([name, keys]) => [`## ${name}`, "", ...keys.map(entry)].join("\n"));
  return `${INTRODUCTION}\n${pages.join("\n\n")}\n`;
}

const INTRODUCTION = `# Settings

Generated from the schema by \`npm run generate\`; do not edit.

The value of a setting comes from the first layer that sets it: flag, then environment variable (the real environment,
then \`.env\` of the profile), then \`config.yaml\` of the profile, then its default. \`hermes config explain KEY\` shows
every layer. In variables and flags, booleans are true/1/yes/on or false/0/no/off, lists and maps are JSON, and text is
used unchanged. Secrets are read only from variables and \`.env\`.
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
  const defaultText = key.secret ? "none (secret)" : `\`${JSON.stringify(key.default)}\``;
  const condition = key.usedBy ? ` Used when \`terminal.backend\` is ${key.usedBy.join(" or ")}.` : "";
  return `- **\`${key.key}\`**: ${key.description}.${condition}\n  Takes ${describeExpectedText(key)}. Default: ${defaultText}. Variable: \`${key.env[0]}\`.`;
}
