import { createHash } from "node:crypto";
import { join } from "node:path";
import { AppError } from "../../lib/errors.ts";
import { ensurePrivateFolder, readTextFile, writeFileAtomic } from "../../lib/files/files.ts";
import { BUNDLED_DATA, type ModelData } from "./model-data.ts";
import { fieldsOf, firstCount, type ListedModel } from "./parse-list.ts";

/** The stored list of a server, and the time of an attempt that failed since. */
export interface StoredList {
  /** Undefined if no list was ever fetched. */
  readonly fetchedAt: number | undefined;
  readonly failedAt: number | undefined;
  readonly models: readonly ListedModel[];
}

/** The server that a list belongs to. */
interface Server {
  readonly provider: string;
  readonly baseUrl: string;
}

/** Facts about models from earlier answers of servers, in `cache/models` of the home. A damaged file counts as missing. */
export interface ModelCache {
  loadList(server: Server): Promise<StoredList | undefined>;
  saveList(server: Server, list: StoredList): Promise<void>;
  /** The window that the server stated in an error. */
  loadStatedWindow(model: Server & { readonly model: string }): Promise<number | undefined>;
  saveStatedWindow(model: Server & { readonly model: string }, tokens: number): Promise<void>;
  /** The newer of the fetched and the bundled data file. */
  loadData(): Promise<ModelData>;
  saveData(data: ModelData): Promise<void>;
}

/** One file per server and per model, written atomically, so that concurrent processes need no lock. */
export function createModelCache(home: string): ModelCache {
  const folder = join(home, "cache", "models");
  const pathOf = (kind: string, { provider, baseUrl }: Server, model = ""): string => {
    const hash = createHash("sha256")
      .update(JSON.stringify([provider, baseUrl, model]))
      .digest("hex");
    return join(folder, `${kind}-${hash.slice(0, 16)}.json`);
  };
  const dataPath = join(folder, "known-models.json");
  const load = async (path: string): Promise<unknown> => {
    try {
      return JSON.parse((await readTextFile(path)) ?? "null");
    } catch (error) {
      if (error instanceof AppError || error instanceof SyntaxError) return undefined;
      throw error;
    }
  };
  const save = async (path: string, value: unknown): Promise<void> => {
    await ensurePrivateFolder(folder);
    await writeFileAtomic(path, `${JSON.stringify(value)}\n`, { mode: 0o600 });
  };
  return {
    async loadList(server) {
      const { schema, fetchedAt, failedAt, models } = fieldsOf(await load(pathOf("list", server)));
      if (schema !== 1 || !Array.isArray(models) || !models.every(isListed)) return undefined;
      return { fetchedAt: firstCount(fetchedAt), failedAt: firstCount(failedAt), models };
    },
    saveList: (server, list) =>
      save(pathOf("list", server), { schema: 1, provider: server.provider, ...list }),
    async loadStatedWindow({ model, ...server }) {
      return firstCount(fieldsOf(await load(pathOf("window", server, model)))["tokens"]);
    },
    saveStatedWindow: ({ model, ...server }, tokens) =>
      save(pathOf("window", server, model), { provider: server.provider, model, tokens }),
    async loadData() {
      const stored = await load(dataPath);
      if (stored === undefined || stored === null) return BUNDLED_DATA;
      const { modelDataSchema } = await import("./model-data-schema.ts");
      const { data } = modelDataSchema.safeParse(stored);
      // After an update of Hermes, the bundled file may be the newer one.
      return data !== undefined && data.date >= BUNDLED_DATA.date ? data : BUNDLED_DATA;
    },
    saveData: (data) => save(dataPath, data),
  };
}

function isListed(value: unknown): value is ListedModel {
  const { name, contextTokens, maxOutputTokens, price } = fieldsOf(value);
  const counts = [contextTokens, maxOutputTokens].filter((count) => count !== undefined);
  const { input, output, cacheRead, cacheWrite } = fieldsOf(price);
  return (
    typeof name === "string" &&
    counts.every((count) => firstCount(count) !== undefined) &&
    (price === undefined || [input, output, cacheRead, cacheWrite].every(Number.isFinite))
  );
}
