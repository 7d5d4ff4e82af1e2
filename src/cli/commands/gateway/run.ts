import { type GatewayReady, runAppGateway } from "../../../app/server/gateway.ts";
import { listReadiness } from "../../../gateway/platforms/configured-platforms.ts";
import { PLATFORMS } from "../../../gateway/platforms/platform-registry.ts";
import type { CommandContext } from "../../context.ts";
import { startApp } from "../../start-app.ts";
import { currentFolder } from "../../terminal/current-folder.ts";

/** With this exit code, a supervisor starts the gateway again. */
const RESTART_EXIT_CODE = 75;

/** Runs the gateway in this process. SIGTERM and SIGINT stop it (exit code 0), SIGUSR1 restarts it (exit code 75). */
export async function runInForeground(
  context: CommandContext,
  { background = false }: { readonly background?: boolean },
): Promise<void> {
  const { terminal, signal } = context;
  const app = await startApp(context);
  const log = (await context.log()).child({ component: "gateway" });
  const restart = new AbortController();
  const onRestart = (): void => restart.abort();
  process.on("SIGUSR1", onRestart);
  // A background gateway has no terminal, so only the log can show why it ended.
  const onBug = (error: unknown): void => log.error("the gateway met a bug and ends", { error });
  process.on("uncaughtExceptionMonitor", onBug);
  const printInForeground = (text: string): void => {
    if (!background) terminal.note(text);
  };
  const onReady = ({ platforms, services: ownServices, api }: GatewayReady): void => {
    const services = api === undefined ? ownServices : [`the API at ${api.url}/v1`, ...ownServices];
    log.info("the gateway runs", { platforms: platforms.map(({ name }) => name), services });
    const key = `its key is API_SERVER_KEY in ${app.profile.envPath}${api?.isKeyNew ? ", generated now" : ""}`;
    const names = platforms.map(({ label }) => label);
    if (names.length > 0) {
      printInForeground(
        `The gateway runs with ${[...names, ...services].join(", ")}; press Ctrl-C to stop it.`,
      );
      if (api?.isKeyNew) printInForeground(`The API needs a key: ${key}.`);
      return;
    }
    const hint = listReadiness(app.resolved.config.platforms)
      .filter(({ name }) => PLATFORMS[name].promptedSettings.length > 0)
      .map(({ label }) => label);
    printInForeground(
      `The gateway runs without a messaging platform${services.length > 0 ? `, and with ${services.join(", ")}` : ""}.`,
    );
    printInForeground(`Connect a platform: \`hermes gateway setup\` (${hint.join(", ")}).`);
    printInForeground(
      api === undefined
        ? "Serve the API: set api_server.enabled, and api_server.port if the port is taken."
        : `Use the API from any client of OpenAI: ${key}.`,
    );
    printInForeground(
      "Create a task: `hermes kanban create TITLE --assignee PROFILE`. Show its state: `hermes gateway status`. Ctrl-C stops it.",
    );
  };
  try {
    const end = await runAppGateway(
      app,
      {
        log,
        cwd: currentFolder(),
        isBackground: background,
        notify: (text) => terminal.note(`hermes: ${text}`),
        onReady,
      },
      { stop: signal, restart: restart.signal },
    );
    log.info("the gateway has ended", { end });
    context.exit(end === "restart" ? RESTART_EXIT_CODE : 0);
  } finally {
    process.off("SIGUSR1", onRestart);
    process.off("uncaughtExceptionMonitor", onBug);
  }
}
