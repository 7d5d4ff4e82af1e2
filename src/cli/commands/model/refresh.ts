import { AppError } from "../../../lib/errors.ts";
import { listCaFiles, openHttpClient, readProxySettings } from "../../../lib/http/http-client.ts";
import { fetchJson } from "../../../providers/catalogue/fetch-json.ts";
import type { ModelData } from "../../../providers/catalogue/model-data.ts";
import { modelDataSchema } from "../../../providers/catalogue/model-data-schema.ts";
import { fieldsOf } from "../../../providers/catalogue/parse-list.ts";
import { isLoopback } from "../../../providers/routes/address.ts";
import type { CommandContext, JsonOption } from "../../context.ts";
import { openCatalogue } from "./model-context.ts";

const ANSWER_WITHIN_MS = 30_000;

export async function refreshModelData(context: CommandContext, { json }: JsonOption): Promise<void> {
  const { terminal, signal } = context;
  const { app, parts } = await openCatalogue(context);
  const { url } = app.resolved.config.model_catalog;
  if (url === "")
    throw new AppError("model-data-invalid", "No address of a data file is set.", {
      hint: "Set it with `hermes config set model_catalog.url ADDRESS`. The data file of this version is in use.",
    });
  await using http = openHttpClient({
    proxy: isLoopback(url) ? {} : readProxySettings(app.variables),
    caFiles: listCaFiles(undefined, app.variables),
  });
  const fetched = await fetchJson(http, new URL(url), { withinMs: ANSWER_WITHIN_MS }, signal);
  const data = parseModelData(fetched);
  const used = await parts.cache.loadData();
  const isNewer = data.date >= used.date;
  if (isNewer) await parts.cache.saveData(data);
  const { length: models } = Object.values(data.providers).flatMap((rows) => Object.keys(rows));
  if (json) return terminal.printJson({ date: data.date, models, used: isNewer });
  terminal.note(
    isNewer
      ? `The data file of ${data.date} is in use; it describes ${models} models.`
      : `Nothing was changed: the file at that address is of ${data.date}, the one in use of ${used.date}.`,
  );
}

function parseModelData(body: unknown): ModelData {
  const { schema } = fieldsOf(body);
  if (typeof schema === "number" && schema > 1)
    throw new AppError(
      "model-data-invalid",
      `The data file has schema ${schema}, which needs a newer Hermes.`,
      {
        hint: "Update Hermes. The data file in use is unchanged.",
      },
    );
  const { data, error } = modelDataSchema.safeParse(body);
  if (data !== undefined) return data;
  const [issue] = error.issues;
  throw new AppError(
    "model-data-invalid",
    `The data file is invalid at ${issue?.path.join(".") || "its top"}: ${issue?.message}.`,
  );
}
