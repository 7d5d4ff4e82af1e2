import type { Command } from "commander";
import { type App, environmentFacts } from "../../app.ts";
import { AppError } from "../../lib/errors.ts";
import type { Route } from "../../providers/resolve-route.ts";
import type { CommandContext } from "../context.ts";
import { currentFolder } from "../current-folder.ts";
import { defineCommand, withExamples } from "../define-command.ts";
import { startApp } from "../start-app.ts";
import { renderTable } from "../table.ts";
import { SURFACE } from "./chat/run-once.ts";

interface Options {
  readonly json?: boolean;
  readonly model?: string;
}

/** `hermes prompt-size`: what every request begins with, and what it costs. */
export function build(context: CommandContext): Command {
  const command = defineCommand(
    "hermes prompt-size",
    "Show the tokens of system prompt and tools, which every request begins with.",
    context.terminal,
  )
    .option("-m, --model <model>", "whose window to compare with, as NAME or PROVIDER:NAME")
    .option("--json", "print JSON")
    .action((options: Options) => promptSize(context, options))
    .addHelpText(
      "after",
      "\nCounted as the models of OpenAI count (o200k); others differ by a few percent.\nInstructions of the project in the current folder are included. Save tokens with\nagent.disabled_toolsets.",
    );
  return withExamples(command, [
    "hermes prompt-size",
    "hermes prompt-size -m anthropic:claude-sonnet-4-5",
    `hermes --agent.disabled_toolsets '["todo"]' prompt-size --json`,
  ]);
}

async function promptSize(context: CommandContext, { json, model }: Options): Promise<void> {
  const { terminal, variables, userHome, signal } = context;
  const app = await startApp(context);
  const [{ describeTools, loadPromptFacts }, { measurePrompt }, { countTokens }] = await Promise.all([
    import("../../conversation/first-prompt.ts"),
    import("../../conversation/measure-prompt.ts"),
    import("gpt-tokenizer/encoding/o200k_base"),
  ]);
  const { agent, terminal: options } = app.resolved.config;
  const tools = describeTools({
    limits: { timeout: options.timeout, maxForegroundTimeout: options.max_foreground_timeout },
    canAsk: SURFACE.ask !== undefined,
    disabled: agent.disabled_toolsets,
  });
  const tell = (text: string): void => terminal.note(`hermes: ${text}`);
  const reporter = { onNotice: tell, onProgress: tell };
  const environment = environmentFacts(app, {
    cwd: currentFolder(),
    variables,
    userHome,
    reporter,
  });
  const place = { home: app.profile.home, environment, surface: SURFACE, now: Date.now() };
  const facts = await loadPromptFacts(place, tools, signal);
  const { parts, tokens } = measurePrompt(facts, tools, (text) => countTokens(text));
  const route = await findRoute(app, model);
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
    terminal.print(`\n${percent(share)} of the window of ${route.model} (${window} tokens)`);
}

/** The model that would be asked; undefined where none is named yet, which is no reason not to count. */
async function findRoute({ resolved }: App, model: string | undefined): Promise<Route | undefined> {
  const { resolveRoute } = await import("../../providers/resolve-route.ts");
  const find = (variable: (name: string) => string | undefined): Route =>
    resolveRoute(resolved.config, { model }, variable);
  try {
    return find((name) => resolved.variable(name));
  } catch (error) {
    // Whose window it is does not depend on having a key.
    if (error instanceof AppError && error.code === "provider-key-missing") return find(() => "none");
    if (error instanceof AppError && model === undefined) return undefined;
    throw error;
  }
}

function percent(share: number): string {
  return `${(share * 100).toFixed(1)} %`;
}
