import { calculateCost } from "../../../agent/request-cost.ts";
import { AppError } from "../../../lib/errors.ts";
import { createRouteCatalogue } from "../../../providers/catalogue/route-catalogue.ts";
import { isLocalAddress } from "../../../providers/failures/timeouts.ts";
import { proveRoute } from "../../../providers/routes/prove-route.ts";
import { resolveRoute } from "../../../providers/routes/resolve-route.ts";
import type { CommandContext, JsonOption } from "../../context.ts";
import { openCatalogue } from "./model-context.ts";

interface TestOptions extends JsonOption {
  readonly provider?: string;
}

export async function testModel(
  context: CommandContext,
  name: string | undefined,
  { provider, json }: TestOptions,
): Promise<void> {
  const { terminal, signal } = context;
  const { app, parts } = await openCatalogue(context);
  const resolved = resolveRoute(parts.settings, { model: name, provider }, parts.variable);
  const route = await createRouteCatalogue(parts).complete(resolved, { model: name, provider }, signal);
  const startedAt = performance.now();
  const { failure, usage } = await proveRoute(route, app.variables, signal);
  const ms = Math.round(performance.now() - startedAt);
  signal.throwIfAborted();
  if (failure !== undefined) throw new AppError("model-unanswered", failure.message, { hint: failure.hint });
  const cost = isLocalAddress(route.baseUrl) ? 0 : calculateCost(usage, route.price);
  if (json)
    return terminal.printJson({
      provider: route.provider,
      model: route.model,
      address: route.baseUrl,
      ms,
      input_tokens: usage.inputTokens ?? null,
      output_tokens: usage.outputTokens ?? null,
      cost_usd: cost ?? null,
    });
  const tokens = `${usage.inputTokens ?? "?"} tokens in, ${usage.outputTokens ?? "?"} out`;
  const price = cost === undefined ? "cost unknown" : `$${cost.toFixed(6)}`;
  terminal.print(`${route.model} (${route.provider}) answered in ${ms} ms: ${tokens}, ${price}`);
}
