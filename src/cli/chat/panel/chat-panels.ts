import type { App } from "../../../app/app.ts";
import { createCatalogueParts } from "../../../app/catalogue.ts";
import { readRouteSettings } from "../../../app/conversation.ts";
import { readOwnIdentity } from "../../../lib/process/process-identity.ts";
import { createRedactor } from "../../../lib/redact/redactor.ts";
import { loadCatalogue } from "../../../providers/catalogue/load-catalogue.ts";
import type { UsageTotals } from "../../../sessions/session.ts";
import { openSessionStore, type SessionStore } from "../../../sessions/session-store.ts";
import { parseTodos, type TodoState } from "../../../tools/todo.ts";
import type { ChatCommand } from "../commands/chat-command.ts";
import type { KeyBindings } from "../input/key-bindings.ts";
import { createModelPicker, idOf, type ListedModel, listModelRows, toListedModels } from "./model-picker.ts";
import { createPanel, type Panel, type PanelRow } from "./panel.ts";
import { createSessionPicker, listSessionRows } from "./session-picker.ts";

/** The pickers of the chat. */
export interface ChatPanels extends Disposable {
  pickSession(query: string): Promise<void>;
  pickModel(query: string): Promise<void>;
  /** Commands, models and sessions in one list. */
  palette(): Promise<void>;
  /** Tokens and cost of the session. */
  usage(): Promise<UsageTotals>;
  /** The agent's list of steps. */
  todos(): Promise<TodoState["items"]>;
  deleteSession(id: string): Promise<number>;
}

export interface ChatPanelParts {
  readonly app: App;
  readonly folder: string;
  keys(): KeyBindings;
  /** Tokens that another model would have to read again. */
  cachedTokens(): number;
  openPanel(panel: Panel): void;
  openSession(id: string): void;
  /** Changes the model of the session. */
  useModel(name: string): void;
  /** Makes a model the default of new sessions, too. */
  keepModel(name: string): void;
  readonly commands: readonly ChatCommand[];
  sessionId(): string | undefined;
  /** A command was chosen; one that needs an argument is put into the input line. */
  chooseCommand(command: ChatCommand): void;
  notice(text: string): void;
  report(error: unknown): void;
}

const RECENT_SESSIONS = 30;
/** Only stored lists are read, so there is no server to wait for. */
const NO_SERVER_MS = 1;

export function createChatPanels(parts: ChatPanelParts, signal: AbortSignal): ChatPanels {
  const { app, folder, keys, openPanel } = parts;
  const { redact } = createRedactor({ secrets: app.resolved.secrets });
  let opened: SessionStore | undefined;
  const store = async (): Promise<SessionStore> => {
    opened ??= await openSessionStore(app.profile.sessionsPath, {}, signal);
    return opened;
  };
  const loadModels = (): Promise<ListedModel[]> => listStoredModels(app, signal);

  return {
    async pickSession(query) {
      const found = await store();
      openPanel(
        createSessionPicker({
          ...{ store: found, folder, now: Date.now(), keys: keys(), query, openPanel, redact, signal },
          onOpen: parts.openSession,
          onRename: (id, title) =>
            void found.list
              .rename(id, title, signal)
              .then((stored) => parts.notice(`The session is now called "${stored}".`), parts.report),
          onDelete: (id) =>
            void deleteSession(found, id, signal).then(
              (messages) => parts.notice(`Deleted the session with ${messages} messages.`),
              parts.report,
            ),
        }),
      );
    },
    async pickModel(query) {
      const [models, found] = await Promise.all([loadModels(), store()]);
      openPanel(
        createModelPicker({
          ...{ models, recent: recentModels(found), keys: keys(), cachedTokens: parts.cachedTokens(), query },
          onChoose: (model) => parts.useModel(idOf(model)),
          onKeep: (model) => parts.keepModel(idOf(model)),
        }),
      );
    },
    async usage() {
      return (await store()).usage.ofSession(parts.sessionId() ?? "");
    },
    async todos() {
      return parseTodos((await store()).findLastResult(parts.sessionId() ?? "", "todo")).items;
    },
    deleteSession: async (id) => deleteSession(await store(), id, signal),
    async palette() {
      const [models, found] = await Promise.all([loadModels(), store()]);
      const rows: PanelRow<() => void>[] = [
        ...parts.commands.map((command) => ({
          value: () => parts.chooseCommand(command),
          search: `/${command.name} ${command.summary}`,
          text: () => `/${command.name.padEnd(12)} ${command.summary}`,
        })),
        ...listModelRows({ models, recent: recentModels(found) }).map(({ value, ...row }) => ({
          ...row,
          value: () => parts.useModel(idOf(value)),
          search: `model ${row.search}`,
          text: () => `model    ${row.text()}`,
        })),
        ...listSessionRows({ store: found, folder, now: Date.now(), redact }).map(({ value, ...row }) => ({
          ...row,
          value: () => parts.openSession(value),
          search: `session ${row.search}`,
          text: () => `session  ${row.text()}`,
        })),
      ];
      openPanel(createPanel({ title: "palette", rows, footer: () => "", onChoose: (act) => act() }));
    },
    [Symbol.dispose]() {
      opened?.[Symbol.dispose]();
    },
  };
}

/** All models that are known without a request to a server. */
export function listStoredModels(app: App, signal: AbortSignal): Promise<ListedModel[]> {
  const settings = readRouteSettings(app.resolved);
  const catalogue = createCatalogueParts(app, { settings, withinMs: NO_SERVER_MS });
  return loadCatalogue(catalogue, { use: "stored", unusable: true }, signal).then(toListedModels);
}

/** The models of the latest sessions, as `provider:name`. */
export function recentModels(store: SessionStore): string[] {
  const sessions = store.list.list({ limit: RECENT_SESSIONS });
  return [...new Set(sessions.map(({ provider, model }) => idOf({ provider, name: model })))];
}

async function deleteSession(store: SessionStore, id: string, signal: AbortSignal): Promise<number> {
  const { messages } = await store.deleteSession(id, await readOwnIdentity(signal), signal);
  return messages;
}
