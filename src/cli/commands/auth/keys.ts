import {
  type ListedKey,
  listKeys,
  openAppKeyStates,
  requireFreeVariable,
  requireKeyVariables,
  testProviderKey,
} from "../../../app/provider-keys.ts";
import { addSecret, writeSecret } from "../../../config/files/write-setting.ts";
import { AppError } from "../../../lib/errors.ts";
import { formatTime } from "../../../lib/time/format-time.ts";
import { isCooling } from "../../../providers/pool/choose-key.ts";
import { fingerprintOf, parseKey } from "../../../providers/pool/pool-key.ts";
import { PROVIDER_ALIASES } from "../../../providers/routes/profiles.ts";
import type { CommandContext, JsonOption } from "../../context.ts";
import { requireYes } from "../../terminal/require-yes.ts";
import { renderTable } from "../../terminal/table.ts";

interface TestOptions extends JsonOption {
  readonly model?: string;
}

export async function addKey(
  context: CommandContext,
  name: string,
  { test, model, json }: TestOptions & { readonly test: boolean },
): Promise<void> {
  const { terminal, reporter, signal } = context;
  const app = await context.openApp();
  const { profile, resolved } = app;
  const { provider, variables } = requireKeyVariables(app, name);
  using states = openAppKeyStates(app, reporter.onNotice);
  const isSet = (variable: string): boolean => Boolean(resolved.variable(variable)?.trim());
  const expected = requireFreeVariable(variables[0], isSet);
  const typed = await terminal.readSecret(`Key for ${provider} (not shown): `, signal);
  const key = parseKey(typed, expected);
  if (key === undefined)
    throw new AppError("confirmation-missing", "The key is empty; nothing was changed.", {
      hint: "Paste the key at the prompt, or pipe it into the command.",
    });
  const keys = await listKeys(app, states, provider, signal);
  const same = keys.find((one) => one.key.value === key.value);
  if (same !== undefined)
    throw new AppError(
      "key-exists",
      `This key is already stored as ${same.key.source}; nothing was changed.`,
    );
  if (test) {
    const { failure } = await testProviderKey(app, states, { provider, key, model }, signal);
    if (failure !== undefined)
      throw new AppError("key-unproved", `The key was not stored: ${failure.message}`, {
        hint: `${failure.hint} To store it anyway, add --no-test.`,
      });
  }
  const variable = await addSecret(
    profile.envPath,
    profile.home,
    (isStored) => requireFreeVariable(variables[0], (name) => isStored(name) || isSet(name)),
    key.value,
    signal,
  );
  (await context.log()).info("key added", { provider, variable });
  const reference = `${provider}#${numberOf(variable, variables[0])}`;
  if (json) return terminal.printJson({ key: reference, provider, variable, tested: test });
  terminal.note(`Stored ${variable} in ${profile.envPath}${test ? "; the provider accepts it" : ""}.`);
}

function numberOf(variable: string, name: string): string {
  return variable === name ? "1" : variable.slice(name.length + 1);
}

export async function listAllKeys(
  context: CommandContext,
  provider: string | undefined,
  { json }: JsonOption,
): Promise<void> {
  const { terminal, reporter, signal } = context;
  const app = await context.openApp();
  using states = openAppKeyStates(app, reporter.onNotice);
  const keys = await listKeys(app, states, provider, signal);
  if (app.resolved.config.model.api_key.trim() !== "")
    terminal.note("hermes: model.api_key is set, and its server gets that key instead of those listed here.");
  if (json) return terminal.printJson(keys.map(describeKey));
  if (keys.length === 0)
    return terminal.print(
      `No keys${provider === undefined ? "" : ` for ${provider}`}. Add one: hermes auth add PROVIDER`,
    );
  const cells = keys.map((listed) => {
    const { key, variable, ends, from, state, cooling_until, last_used_at } = describeKey(listed);
    const until = cooling_until === null ? "" : ` until ${formatTime(cooling_until)}`;
    const used = last_used_at === null ? "never used" : `used ${formatTime(last_used_at)}`;
    return [key, variable, ends, from, `${state}${until}, ${used}`];
  });
  terminal.print(renderTable(["KEY", "VARIABLE", "ENDS", "FROM", "STATE"], cells, terminal));
}

const LONG_KEY = 20; // the last characters of a shorter key would reveal too much of it

function describeKey({ reference, provider, key, from, state }: ListedKey) {
  const isOut = isCooling(state, Date.now());
  return {
    key: reference,
    provider,
    variable: key.source,
    fingerprint: fingerprintOf(key.value),
    ends: key.value.length < LONG_KEY ? "" : `…${key.value.slice(-4)}`,
    from,
    state: isOut ? (state?.kind === "auth" ? "refused" : "cooling") : "ready",
    reason: isOut ? (state?.kind ?? null) : null,
    cooling_until: isOut ? (state?.coolingUntil ?? null) : null,
    turns: state?.uses ?? 0,
    last_used_at: state?.usedAt ?? null,
  };
}

export async function testKeys(
  context: CommandContext,
  which: string | undefined,
  { model, json }: TestOptions,
): Promise<void> {
  const { terminal, reporter, signal } = context;
  const app = await context.openApp();
  using states = openAppKeyStates(app, reporter.onNotice);
  const keys = findKeys(await listKeys(app, states, undefined, signal), which);
  const results = [];
  for (const { reference, provider, key } of keys) {
    const result = { key: reference, variable: key.source, ...(await testKey(provider, key)) };
    results.push(result);
    if (!json) terminal.print(formatResult(result));
  }
  if (json) terminal.printJson(results);
  const failed = results.filter(({ ok }) => !ok).length;
  if (failed > 0)
    throw new AppError("checks-failed", failed === 1 ? "1 key failed." : `${failed} keys failed.`);

  async function testKey(provider: string, key: ListedKey["key"]) {
    try {
      const { failure, route } = await testProviderKey(app, states, { provider, key, model }, signal);
      return {
        ok: failure === undefined,
        model: route.model,
        message: failure?.message,
        hint: failure?.hint,
      };
    } catch (error) {
      if (!(error instanceof AppError)) throw error;
      return { ok: false, model: undefined, message: error.message, hint: error.hint };
    }
  }
}

function formatResult(result: {
  readonly key: string;
  readonly variable: string;
  readonly ok: boolean;
  readonly model: string | undefined;
  readonly message: string | undefined;
  readonly hint: string | undefined;
}): string {
  const { key, variable, ok, model, message, hint } = result;
  const name = key === variable ? key : `${key} (${variable})`;
  return ok ? `ok    ${name}: ${model} answers` : `FAIL  ${name}: ${message}\n      → ${hint}`;
}

export async function removeKey(
  context: CommandContext,
  which: string,
  { yes, json }: JsonOption & { readonly yes?: boolean },
): Promise<void> {
  const { terminal, reporter, signal } = context;
  const app = await context.openApp();
  const { profile } = app;
  using states = openAppKeyStates(app, reporter.onNotice);
  const [found, ...others] = findKeys(await listKeys(app, states, undefined, signal), which);
  if (found === undefined || others.length > 0) {
    const names = [found, ...others].map((one) => one?.reference).join(", ");
    throw new AppError("usage-wrong", `${which} has ${others.length + 1} keys.`, {
      hint: `Name one of ${names}.`,
    });
  }
  const { key, from, reference } = found;
  if (from === "environment")
    throw new AppError(
      "key-not-found",
      `${key.source} is set in the environment, not in ${profile.envPath}.`,
      {
        hint: `Remove it where it is set, for instance with \`unset ${key.source}\`.`,
      },
    );
  if (!yes) await requireYes(context, `Remove ${key.source} from ${profile.envPath}?`, "Removing a key");
  await writeSecret(profile.envPath, profile.home, key.source, undefined, signal);
  (await context.log()).info("key removed", { provider: found.provider, variable: key.source });
  if (json) return terminal.printJson({ key: reference, variable: key.source, removed: true });
  terminal.note(`Removed ${key.source} from ${profile.envPath}.`);
}

/** Finds keys by a reference or a variable, or all keys of a provider. Throws if there are none. */
function findKeys(keys: readonly ListedKey[], given: string | undefined): readonly ListedKey[] {
  const word = given?.replace(/^[^#]+/, (name) =>
    keys.some(({ provider }) => provider === name) ? name : (PROVIDER_ALIASES.get(name) ?? name),
  );
  const named = keys.filter(({ reference, key }) => reference === word || key.source === word);
  const found =
    named.length > 0 ? named.slice(0, 1) : keys.filter(({ provider }) => (word ?? provider) === provider);
  if (found.length > 0) return found;
  const list = keys.map(({ reference }) => reference).join(", ");
  // The word is not repeated, because it may be a key that was pasted by mistake.
  throw new AppError(
    "key-not-found",
    given === undefined ? "There are no keys." : "There is no key of that name.",
    {
      hint: keys.length === 0 ? "Add one: `hermes auth add PROVIDER`." : `Name one of ${list}.`,
    },
  );
}
