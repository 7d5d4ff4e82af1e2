import type { Command } from "commander";
import { DASHBOARD_SCOPES } from "../../api/contract/scopes.ts";
import { type DashboardAccess, openDashboardAccess, runAppDashboard } from "../../app/server/dashboard.ts";
import { describeRoutes } from "../../app/server/route-list.ts";
import { AppError } from "../../lib/errors.ts";
import type { CommandContext } from "../context.ts";
import { defineCommand, verbsOf, withExamples } from "../define-command.ts";
import { requirePerson } from "../require-person.ts";
import { startApp } from "../start-app.ts";
import { currentFolder } from "../terminal/current-folder.ts";
import { openBrowser } from "../terminal/open-browser.ts";
import { renderTable } from "../terminal/table.ts";
import { unknownVerb } from "../unknown-verb.ts";

const MIN_PASSWORD_LENGTH = 12;

interface ServeOptions {
  readonly host?: string;
  readonly port?: string;
  readonly open: boolean;
}

const INSECURE =
  "hermes: warning: dashboard.insecure is set: everybody who reaches this address can read all tasks and sessions, without signing in.";

/** `hermes dashboard` serves the web pages and manages who may open them. */
export function build(context: CommandContext): Command {
  const { terminal } = context;
  const dashboard = defineCommand(
    "hermes dashboard",
    "Serve the dashboard, where you see and steer tasks and sessions in a browser, and print a link that opens it once.",
    terminal,
  );
  dashboard
    .option("--host <address>", "address to listen on instead of dashboard.host")
    .option("--port <number>", "port to listen on instead of dashboard.port")
    .option("--no-open", "print the link, but open no browser")
    .allowExcessArguments()
    .action((options) => {
      const [word] = dashboard.args;
      const verbs = dashboard.commands.map((verb) => verb.name());
      if (word !== undefined) throw unknownVerb("hermes dashboard", word, verbs);
      return serveDashboard(context, options);
    });
  const add = verbsOf(dashboard, terminal);
  add("link", "Print a link that opens the running dashboard in one browser, once.", [
    "hermes dashboard link",
    "hermes dashboard link --read-only",
  ])
    .option("--read-only", "the browser may read, but not change anything")
    .action((options) => printLink(context, options));
  add("routes", "List every route of the dashboard and of the API, with who may call it.", [
    "hermes dashboard routes",
    "hermes dashboard routes --openapi",
  ])
    .option("--openapi", "print a description of the dashboard's routes for programs (OpenAPI 3.1)")
    .option("--json", "print JSON")
    .action((options) => printRoutes(context, options));
  add("password", "Set the password for signing in when the dashboard can be reached from other machines.", [
    "hermes dashboard password",
  ]).action(() => setPassword(context));
  add("sign-out", "Sign out all browsers, and end all unused links.", ["hermes dashboard sign-out"]).action(
    () => signOut(context),
  );
  return withExamples(dashboard, ["hermes dashboard", "hermes dashboard link"]);
}

async function serveDashboard(context: CommandContext, { host, port, open }: ServeOptions): Promise<void> {
  const { terminal, choice, signal } = context;
  requirePerson(context);
  const settings = new Map(choice.settings);
  if (host !== undefined) settings.set("dashboard.host", host);
  if (port !== undefined) settings.set("dashboard.port", port);
  const app = await startApp({
    terminal,
    openApp: async () => (await import("../../app/app.ts")).openApp({ ...choice, settings }),
  });
  const log = (await context.log()).child({ component: "dashboard" });
  const show = (url: string, link: string | undefined): void => {
    terminal.print(link ?? url);
    if (link !== undefined)
      terminal.note("The link works once and expires in ten minutes. For another: `hermes dashboard link`.");
    if (open) openBrowser(context, app.profile.root, link ?? url);
  };
  const running = await runAppDashboard(
    app,
    {
      log,
      cwd: currentFolder(),
      async onReady({ url, createLink, isInsecure }) {
        log.info("the dashboard is served", { url });
        if (isInsecure) terminal.note(INSECURE);
        terminal.note("The dashboard runs; press Ctrl-C to stop it.");
        show(url, await createLink());
      },
    },
    signal,
  );
  if (running === undefined) return context.exit(0);
  terminal.note(`The dashboard of this home is already served by process ${running.process.pid}.`);
  using access = await openDashboardAccess(app, signal);
  show(running.url, await access.createLink(running, DASHBOARD_SCOPES, signal));
}

async function printLink(context: CommandContext, { readOnly = false }: { readonly readOnly?: boolean }) {
  requirePerson(context);
  using access = await openDashboardAccess(await startApp(context), context.signal);
  const server = await access.findServer(context.signal);
  if (server === undefined) throw new AppError("dashboard-stopped", "No dashboard of this home is running.");
  const link = await access.createLink(server, readOnly ? ["read"] : DASHBOARD_SCOPES, context.signal);
  context.terminal.print(link ?? server.url);
}

async function printRoutes(
  { terminal }: CommandContext,
  { openapi = false, json = false }: { readonly openapi?: boolean; readonly json?: boolean },
): Promise<void> {
  const { rows: routes, openApi } = describeRoutes();
  if (openapi) return terminal.printJson(openApi());
  if (json) return terminal.printJson(routes);
  const rows = routes.map(({ method, path, credential, scope, summary }) => [
    ...[method, path, credential, scope],
    summary,
  ]);
  terminal.print(renderTable(["method", "path", "sign-in", "scope", "description"], rows, terminal));
}

async function setPassword(context: CommandContext): Promise<void> {
  const { terminal, signal } = context;
  requirePerson(context);
  const app = await startApp(context);
  const password = await terminal.readSecret("Password of the dashboard: ", signal);
  if (password.length < MIN_PASSWORD_LENGTH)
    throw new AppError("usage-wrong", `A password has at least ${MIN_PASSWORD_LENGTH} characters.`);
  using access = await openDashboardAccess(app, signal);
  await access.setPassword(password, signal);
  const { username } = app.resolved.config.dashboard.basic_auth;
  terminal.note(
    `Stored. Sign in as ${username}; a running dashboard uses the password after its next start.`,
  );
}

async function signOut(context: CommandContext): Promise<void> {
  using access: DashboardAccess = await openDashboardAccess(await startApp(context), context.signal);
  const count = await access.signOutAll(context.signal);
  context.terminal.note(count === 0 ? "Nobody was signed in." : `Signed out ${count} browser(s).`);
}
