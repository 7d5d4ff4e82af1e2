import type { CommandContext } from "../../../context.ts";
import { openBrowser } from "../../../terminal/open-browser.ts";
import { type DemoOptions, type DemoProcess, demoFailed, openDemo } from "../open-demo.ts";
import { openDemoBoard } from "./demo-board.ts";
import { createDashboardGraph } from "./demo-tasks.ts";

interface DashboardDemoOptions extends DemoOptions {
  readonly opensBrowser: boolean;
}

/** Shows the board of the demo in the dashboard, until the user ends it. */
export async function runDashboardDemo(
  context: CommandContext,
  options: DashboardDemoOptions,
): Promise<void> {
  try {
    await serveDemo(context, options);
  } catch (error) {
    if (!context.signal.aborted) throw error;
    context.exit(0); // Ctrl-C is how this demo ends
  }
}

async function serveDemo(
  context: CommandContext,
  { isFast, opensBrowser }: DashboardDemoOptions,
): Promise<never> {
  const { terminal } = context;
  const { bold } = terminal.colours;
  const options = { isFast, staysOpen: true };
  const graph = createDashboardGraph(options);

  terminal.print(
    `${bold("Hermes demo")}: agents work on a board, and you watch and answer them in a browser.\n`,
  );
  terminal.print("  model     scripted: it follows a file. No key, no network.");
  terminal.print("  the rest  is real: board, dispatcher, workers, files, dashboard.");
  await using demo = await openDemo(context, options);
  const { signal } = demo;
  await using board = await openDemoBoard(demo, graph, options, signal);

  // Any free port, because the dashboard of another home may use the default one.
  const dashboard = demo.start(["dashboard", "--no-open", "--port", "0"], signal);
  const link = await firstLine(dashboard);
  terminal.print(`\n${bold(link)}\n`);
  terminal.print(
    "The link works once and expires in ten minutes. One task asks you a question: answer it there.",
  );
  terminal.print("Ctrl-C ends the demo, which leaves nothing behind.");
  if (opensBrowser) openBrowser(context, demo.home, link);

  const daemon = board.startDaemon(signal);
  const [ended, name] = await Promise.race([
    dashboard.ended.then((end) => [end, "dashboard"] as const),
    daemon.ended.then((end) => [end, "daemon"] as const),
  ]);
  signal.throwIfAborted();
  throw demoFailed(`the ${name} has exited`, ended.stderr);
}

async function firstLine({ lines, ended }: DemoProcess): Promise<string> {
  for await (const line of lines) return line;
  throw demoFailed("the dashboard did not start", (await ended).stderr);
}
