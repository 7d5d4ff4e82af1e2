import type { Command } from "commander";
import type { App } from "../../app/app.ts";
import { LOOKUP_WITHIN_MS, readRouteSettings } from "../../app/conversation.ts";
import { createEnvironmentFacts } from "../../app/environments/environments.ts";
import { AppError } from "../../lib/errors.ts";
import type { Route } from "../../providers/routes/resolve-route.ts";
import type { CommandContext } from "../context.ts";
import { defineCommand, withExamples } from "../define-command.ts";
import { startApp } from "../start-app.ts";
import { currentFolder } from "../terminal/current-folder.ts";
import { renderTable } from "../terminal/table.ts";
import { SURFACE } from "./chat/run-once.ts";

interface Options {
  readonly json?: boolean;
  readonly model?: string;
}

export function build(context: CommandContext): Command {
  const command = defineCommand(
    "hermes prompt-size",
    "Show the token count of the system prompt and tools, which are part of every request.",
    context.terminal,
  )
    .option("-m, --model <model>", "compare with the context window of this model (NAME or PROVIDER:NAME)")
    .option("--json", "print JSON")
    .action((options: Options) => promptSize(context, options))
    .addHelpText(
      "after",
      "\nCounted with OpenAI's o200k tokenizer; other models differ by a few percent.\nProject instructions of the current folder are included. To save tokens, set\nagent.disabled_toolsets.",
    );
  return withExamples(command, [
    "hermes prompt-size",
    "hermes prompt-size -m anthropic:claude-sonnet-4-5",
    `hermes --agent.disabled_toolsets '["todo"]' prompt-size --json`,
  ]);
}

async function promptSize(context: CommandContext, { json, model }: Options): Promise<void> {
  const { terminal, reporter, signal } = context;
  const app = await startApp(context);
  const [{ describeTools, loadPromptFacts }, { offersVision }, { measurePrompt }, { countTokens }] =
    await Promise.all([
      import("../../conversation/prompt/prompt-facts.ts"),
      import("../../conversation/prompt/describe-images.ts"),
      import("../../conversation/prompt/measure-prompt.ts"),
      import("gpt-tokenizer/encoding/o200k_base"),
    ]);
  const { agent, approvals, terminal: options, context_file_max_chars: maxChars } = app.resolved.config;
  const route = await findRoute(app, model, signal);
  const tools = describeTools({
    canSee: offersVision(app.resolved.config, route),
    limits: { timeout: options.timeout, maxForegroundTimeout: options.max_foreground_timeout },
    canAsk: approvals.single_query_mode === "ask",
    disabled: agent.disabled_toolsets,
  });
  const environment = createEnvironmentFacts(app, { cwd: currentFolder(), reporter });
  const promptContext = {
    home: app.profile.home,
    environment,
    surface: SURFACE,
    now: Date.now(),
    contextRules: { maxChars, notify: reporter.onNotice, onUntrusted: () => undefined },
  };
  const facts = await loadPromptFacts(promptContext, tools, signal);
  const { parts, tokens } = measurePrompt(facts, tools, (text) => countTokens(text));
  const window = route?.contextTokens;
  const share = window === undefined ? undefined : tokens / window;
  if (json)
    return terminal.printJson({
      parts,
      tokens,
      model: route?.model ?? null,
      context_tokens: window ?? null,
      share_of_window: share ?? null,
    });
  const rows = parts.map((part) => [
    part.kind === "tool" ? `tool ${part.name}` : part.name,
    `${part.tokens}`,
    percent(part.tokens / tokens),
  ]);
  terminal.print(renderTable(["PART", "TOKENS", "SHARE"], [...rows, ["total", `${tokens}`, ""]], terminal));
  if (route !== undefined && window !== undefined && share !== undefined)
    terminal.print(
      `\n${percent(share)} of the window of ${route.model} (${window} tokens${route.contextSource === "default" ? ", assumed" : ""})`,
    );
}

/** The route of the model; undefined if none is configured, because the count does not need one. */
async function findRoute(
  app: App,
  model: string | undefined,
  signal: AbortSignal,
): Promise<Route | undefined> {
  const [{ resolveRoute }, { createCatalogueParts }, { createRouteCatalogue }] = await Promise.all([
    import("../../providers/routes/resolve-route.ts"),
    import("../../app/catalogue.ts"),
    import("../../providers/catalogue/route-catalogue.ts"),
  ]);
  const { resolved } = app;
  const settings = readRouteSettings(resolved);
  const catalogue = createRouteCatalogue(createCatalogueParts(app, { settings, withinMs: LOOKUP_WITHIN_MS }));
  const find = (variable: (name: string) => string | undefined): Promise<Route> =>
    catalogue.complete(resolveRoute(settings, { model }, variable), { model, provider: undefined }, signal);
  try {
    return await find((name) => resolved.variable(name));
  } catch (error) {
    // The context window can be found without a key.
    if (error instanceof AppError && error.code === "provider-key-missing") return find(() => "none");
    if (error instanceof AppError && model === undefined) return undefined;
    throw error;
  }
}

function percent(share: number): string {
  return `${(share * 100).toFixed(1)} %`;
}
