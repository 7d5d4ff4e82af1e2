import { type ApiKeys, KEY_SCOPES, openApiKeys } from "../../../app/server/api-keys.ts";
import { AppError } from "../../../lib/errors.ts";
import { formatTime } from "../../../lib/time/format-time.ts";
import type { CommandContext, JsonOption } from "../../context.ts";
import { requirePerson } from "../../require-person.ts";
import { startApp } from "../../start-app.ts";
import { renderTable } from "../../terminal/table.ts";

export interface KeyOptions extends JsonOption {
  readonly scope: readonly string[];
  readonly remove?: boolean;
}

const NAME = /^[\w.-]{1,64}$/;

/** Lists the named keys of the API, or adds or removes one. A new key is printed once, because only its hash is stored. */
export async function manageKeys(
  context: CommandContext,
  name: string | undefined,
  options: KeyOptions,
): Promise<void> {
  const { terminal, signal } = context;
  using keys = await openApiKeys(await startApp(context), signal);
  if (name === undefined) return listKeys(context, keys, options);
  requirePerson(context);
  if (options.remove) {
    await keys.remove(name, signal);
    return terminal.note(`The key ${name} is removed; requests with it are refused from now on.`);
  }
  if (!NAME.test(name))
    throw new AppError("usage-wrong", "The name of a key has up to 64 letters, digits, dots, `-` and `_`.");
  const wrong = options.scope.find((scope) => !KEY_SCOPES.some((known) => known === scope));
  if (wrong !== undefined)
    throw new AppError("usage-wrong", `There is no scope ${wrong}.`, {
      hint: `Use some of ${KEY_SCOPES.join(", ")}.`,
    });
  const scopes = KEY_SCOPES.filter((scope) => options.scope.includes(scope));
  const key = await keys.add(name, scopes, signal);
  terminal.note(`The key ${name} may use ${scopes.join(", ")}. It is shown only now:`);
  terminal.print(key);
}

function listKeys({ terminal }: CommandContext, keys: ApiKeys, { json = false }: JsonOption): void {
  const stored = keys.list();
  const rows = stored.map(({ name, scopes, createdAt }) => [name, scopes.join(", "), formatTime(createdAt)]);
  if (json) terminal.printJson(stored);
  else if (rows.length > 0) terminal.print(renderTable(["key", "scopes", "created"], rows, terminal));
  else terminal.note("There is no key but API_SERVER_KEY. Add one: `hermes gateway keys NAME --scope chat`.");
}
