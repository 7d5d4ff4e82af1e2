import { AppError } from "../../lib/errors.ts";
import type { HttpClient } from "../../lib/http/http-client.ts";
import type { Route } from "../routes/resolve-route.ts";
import { fetchJson } from "./fetch-json.ts";
import type { ModelFacts } from "./model-facts.ts";
import { fieldsOf, firstCount } from "./parse-list.ts";

const MAX_DESCRIBED = 50;

/** Facts about the models of an Ollama server, by name; empty if the server is not Ollama. */
export async function fetchOllamaModels(
  { baseUrl, headers }: Route,
  http: HttpClient,
  withinMs: number,
  signal: AbortSignal,
): Promise<ReadonlyMap<string, ModelFacts>> {
  const ask = async (path: string, body?: unknown): Promise<ReturnType<typeof fieldsOf>> => {
    try {
      return fieldsOf(await fetchJson(http, new URL(path, baseUrl), { headers, body, withinMs }, signal));
    } catch (error) {
      if (error instanceof AppError) return {}; // the list is still useful without this answer
      throw error;
    }
  };
  const names = namesIn((await ask("/api/tags"))["models"]).slice(0, MAX_DESCRIBED);
  if (names.length === 0) return new Map();
  const running = (await ask("/api/ps"))["models"];
  const loaded = new Map(
    (Array.isArray(running) ? running : []).map((one) => {
      const { name, context_length: length } = fieldsOf(one);
      return [String(name), firstCount(length)];
    }),
  );
  const described = names.map(async (name) => {
    const facts = parseShown(await ask("/api/show", { model: name }));
    return [name, { ...facts, contextTokens: loaded.get(name) ?? facts.contextTokens }] as const;
  });
  return new Map(await Promise.all(described));
}

function namesIn(models: unknown): string[] {
  return (Array.isArray(models) ? models : [])
    .map((model) => fieldsOf(model)["name"])
    .filter((name) => typeof name === "string");
}

/** Parses the answer of `/api/show`. A window that the model file sets takes precedence over the largest possible one. */
function parseShown({ model_info: info, parameters, capabilities }: ReturnType<typeof fieldsOf>): ModelFacts {
  const [, configured] = /^num_ctx\s+(\d+)\s*$/m.exec(String(parameters ?? "")) ?? [];
  const largest = Object.entries(fieldsOf(info)).find(([name]) => name.endsWith(".context_length"))?.[1];
  const abilities = Array.isArray(capabilities) ? capabilities : undefined;
  return {
    contextTokens: firstCount(configured === undefined ? undefined : Number(configured), largest),
    vision: abilities?.includes("vision"),
    reasoning: abilities?.includes("thinking"),
  };
}
