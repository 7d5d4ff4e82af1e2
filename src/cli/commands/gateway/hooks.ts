import { join } from "node:path";
import { openGatewayRecords } from "../../../app/server/gateway-status.ts";
import { listHookFolders } from "../../../gateway/hooks/hook-folders.ts";
import { AppError } from "../../../lib/errors.ts";
import type { CommandContext, JsonOption } from "../../context.ts";
import { requirePerson } from "../../require-person.ts";
import { startApp } from "../../start-app.ts";
import { escapeControls } from "../../terminal/escape-controls.ts";
import { renderTable } from "../../terminal/table.ts";

interface HookOptions extends JsonOption {
  readonly trust?: boolean;
  readonly distrust?: boolean;
}

/** Lists the hooks of the gateway, or trusts or distrusts one. */
export async function manageHooks(
  context: CommandContext,
  name: string | undefined,
  { trust = false, distrust = false, json = false }: HookOptions,
): Promise<void> {
  const { terminal, signal } = context;
  const app = await startApp(context);
  using records = await openGatewayRecords(app, signal);
  const folder = join(app.profile.home, "hooks");
  const allHooks = (await listHookFolders(folder)).map((hook) => {
    const known = records.hooks.hashOf(hook.name);
    const state =
      "problem" in hook.manifest
        ? "broken"
        : known === undefined
          ? "not trusted"
          : known === hook.hash
            ? "trusted"
            : "changed";
    return { ...hook, state };
  });
  const shown = name === undefined ? allHooks : allHooks.filter((hook) => hook.name === name);
  if (name !== undefined && shown.length === 0 && !distrust)
    throw new AppError("hook-unknown", `There is no hook ${name} in ${folder}.`);
  if (trust || distrust) {
    requirePerson(context);
    if (name === undefined) throw new AppError("usage-wrong", "Name a hook.");
    const [hook] = shown;
    if (distrust) {
      await records.hooks.distrust(name, signal);
      return terminal.note(
        `${name} is no longer trusted. A running gateway stops using it after \`hermes gateway restart\`.`,
      );
    }
    if (hook !== undefined && "problem" in hook.manifest)
      throw new AppError("hook-unknown", `${name} cannot be used: ${hook.manifest.problem}.`);
    await records.hooks.trust(name, hook?.hash ?? "", signal);
    return terminal.note(
      `${name} is trusted as it is now. A running gateway uses it after \`hermes gateway restart\`.`,
    );
  }
  if (json) return terminal.printJson(shown);
  if (shown.length === 0) return terminal.note(`There is no hook in ${folder}.`);
  terminal.print(
    renderTable(
      ["hook", "state", "events", "description"],
      shown.map(({ name: one, state, manifest }) => [
        escapeControls(one),
        state,
        "problem" in manifest ? "" : manifest.events.join(" "),
        escapeControls("problem" in manifest ? manifest.problem : manifest.description),
      ]),
      terminal,
    ),
  );
}
