import { createKeyBindings } from "../../chat/input/key-bindings.ts";
import { listStoredModels, recentModels } from "../../chat/panel/chat-panels.ts";
import { createModelPicker, idOf, type ListedModel } from "../../chat/panel/model-picker.ts";
import { runPanel } from "../../chat/panel/run-panel.ts";
import type { CommandContext } from "../../context.ts";
import { startApp } from "../../start-app.ts";
import { findStore } from "../sessions/require-session.ts";
import { setModel } from "./set.ts";

/** Lets the user choose the model of new sessions from a list, as `/model` does in the chat. */
export async function pickModel(context: CommandContext): Promise<void> {
  const { terminal, streams, signal } = context;
  const app = await startApp(context);
  const models = await listStoredModels(app, signal);
  const store = await findStore(context);
  const recent = store === undefined ? [] : recentModels(store);
  store?.[Symbol.dispose]();
  let chosen: ListedModel | undefined;
  const { keys } = app.resolved.config.display;
  const panel = createModelPicker({
    ...{ models, recent, keys: createKeyBindings(keys), cachedTokens: 0 },
    onChoose(model) {
      chosen = model;
    },
  });
  await runPanel(panel, streams, { colours: terminal.colours, keys }, signal);
  if (chosen === undefined) terminal.note("The model was not changed. `hermes model show` shows it.");
  else await setModel(context, idOf(chosen), {});
}
