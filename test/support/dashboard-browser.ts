import { mkdir } from "node:fs/promises";
import { join, resolve } from "node:path";
import axe from "axe-core";
import { type Browser, type BrowserContext, type Cookie, chromium, type Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, expect } from "vitest";
import { tempHome } from "./hermes.ts";
import { scale } from "./scale.ts";

/** Screenshots of the pages, kept after the run for people to look at. */
const PICTURES = resolve(import.meta.dirname, "../../.artifacts/dashboard");
/** Ends a test that hangs; long enough for a busy machine. */
export const WITHIN_MS = 120_000;

export const SIZES = {
  desktop: { width: 1440, height: 900 },
  phone: { width: 390, height: 844 },
} as const;
const THEMES = ["light", "dark"] as const;

export interface PageOptions {
  readonly size?: keyof typeof SIZES | { readonly width: number; readonly height: number };
  readonly theme?: (typeof THEMES)[number];
  /** The language of the browser. */
  readonly locale?: string;
}

export function launchBrowser(executablePath: string): Promise<Browser> {
  const args = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"];
  const quiet = ["--disable-background-networking", "--disable-component-update", "--disable-sync"];
  return chromium.launch({ executablePath, args: [...args, ...quiet] });
}

/** A Chromium and a dashboard that the tests of one file share. `env` is added to the environment of the program. */
export function shareDashboard(executablePath: string, env: Readonly<Record<string, string>> = {}) {
  let browser: Browser | undefined;
  let dashboard: Dashboard | undefined;
  beforeAll(async () => {
    browser = await launchBrowser(executablePath);
    dashboard = await openDashboard(browser, { env });
  });
  afterEach(async () => dashboard?.closePages());
  afterAll(async () => {
    await dashboard?.[Symbol.asyncDispose]();
    await browser?.close();
  });
  return {
    dashboard(): Dashboard {
      if (dashboard === undefined) throw new Error("only tests have the dashboard");
      return dashboard;
    },
    /** A dashboard for one test, which needs a home of its own. */
    async openOwn(): Promise<Dashboard> {
      if (browser === undefined) throw new Error("only tests have the browser");
      return openDashboard(browser);
    },
  };
}

/** A Chromium that the tests of one file share, for dashboards with settings of their own. */
export function shareBrowser(executablePath: string) {
  let browser: Browser | undefined;
  beforeAll(async () => {
    browser = await launchBrowser(executablePath);
  });
  afterAll(async () => browser?.close());
  return {
    async openDashboard(prepare: (home: TempHome) => Promise<void>): Promise<Dashboard> {
      if (browser === undefined) throw new Error("only tests have the browser");
      return openDashboard(browser, { prepare });
    },
  };
}

type TempHome = Awaited<ReturnType<typeof tempHome>>;

export interface DashboardSetUp {
  readonly prepare?: (home: TempHome) => Promise<void>;
  readonly env?: Readonly<Record<string, string>>;
}

/** A home of its own and the built program that serves its dashboard. Disposing closes the pages too. */
export async function openDashboard(browser: Browser, { prepare, env = {} }: DashboardSetUp = {}) {
  const home = await tempHome();
  let contexts: BrowserContext[] = [];
  const opened: (() => PromiseLike<unknown>)[] = [() => home[Symbol.asyncDispose]()];
  const close = async (): Promise<void> => {
    for (const end of opened.toReversed()) await end();
  };
  try {
    await prepare?.(home);
    let server = await serve(home, 0, env);
    opened.push(() => server.stop());
    opened.push(() => Promise.all(contexts.map((context) => context.close())));
    let signedIn: Cookie[] | undefined;
    let tab: Page | undefined;
    const open = async (options: PageOptions): Promise<Page> => {
      const context = await newContext(browser, options);
      contexts.push(context);
      return newPage(context);
    };
    /** Opens a page in another browser that is signed in. */
    const page = async (path = "", options: PageOptions = {}): Promise<Page> => {
      const opened = await open(options);
      const context = opened.context();
      if (signedIn === undefined) {
        await opened.goto(await newLink(home));
        await opened.getByRole("navigation").first().waitFor({ state: "attached" });
        signedIn = await context.cookies();
        if (path === "") return opened;
      } else await context.addCookies(signedIn);
      await opened.goto(server.url + path);
      return opened;
    };
    return {
      home,
      get url() {
        return server.url;
      },
      /** The process of the server. */
      get pid() {
        return server.pid;
      },
      page,
      /** Opens a path in the page that the tests share, and resets the page. A new page costs four times as much CPU. */
      async tab(path = ""): Promise<Page> {
        if (tab === undefined) {
          tab = await page(path);
          return tab;
        }
        await tab.evaluate("localStorage.clear(); sessionStorage.clear()");
        await tab.setViewportSize(SIZES.desktop);
        await tab.emulateMedia({ colorScheme: "light", reducedMotion: "reduce" });
        await tab.mouse.move(0, 0);
        await tab.goto(server.url + path, { waitUntil: "commit" });
        errorsOf.get(tab)?.splice(0);
        await tab.waitForLoadState();
        return tab;
      },
      /** Closes all pages but the shared one. */
      async closePages(): Promise<void> {
        const kept = tab?.context();
        const others = contexts.filter((context) => context !== kept);
        contexts = kept === undefined ? [] : [kept];
        await Promise.all(others.map((context) => context.close()));
        const besides = kept?.pages().filter((page) => page !== tab) ?? [];
        await Promise.all(besides.map((page) => page.close()));
      },
      /** Opens a page in a browser that is not signed in. */
      stranger: (options: PageOptions = {}): Promise<Page> => open(options),
      link: () => newLink(home),
      /** Restarts the server at the same address; `between` runs while it is stopped. */
      async restart(between: () => Promise<void> = async () => undefined): Promise<void> {
        const port = Number(new URL(server.url).port);
        await server.stop();
        await between();
        server = await serve(home, port, env);
      },
      [Symbol.asyncDispose]: close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

export type Dashboard = Awaited<ReturnType<typeof openDashboard>>;

async function newContext(
  browser: Browser,
  { size = "desktop", theme = "light", locale = "en-US" }: PageOptions,
): Promise<BrowserContext> {
  const viewport = typeof size === "string" ? SIZES[size] : size;
  const context = await browser.newContext({
    ...{ viewport, locale, colorScheme: theme, reducedMotion: "reduce" },
  });
  context.setDefaultTimeout(WITHIN_MS);
  return context;
}

/** Exceptions and console errors of each page. */
const errorsOf = new WeakMap<Page, string[]>();

async function newPage(context: BrowserContext): Promise<Page> {
  const page = await context.newPage();
  const errors: string[] = [];
  errorsOf.set(page, errors);
  page.on("pageerror", ({ message }) => errors.push(message));
  page.on("console", (line) => {
    // Tests provoke refused and lost requests, which the browser reports by itself.
    if (line.type() === "error" && !/^Failed to load resource/.test(line.text())) errors.push(line.text());
  });
  return page;
}

/** Errors in a page, such as exceptions and violations of the content security policy. */
export const pageErrors = (page: Page): readonly string[] => errorsOf.get(page) ?? [];

async function newLink(home: Awaited<ReturnType<typeof tempHome>>): Promise<string> {
  const { stdout, stderr, exitCode } = await home.hermes(["dashboard", "link"]);
  if (exitCode !== 0) throw new Error(stderr);
  return stdout.trim();
}

async function serve(
  home: Awaited<ReturnType<typeof tempHome>>,
  port: number,
  env: Readonly<Record<string, string>>,
) {
  const { child, ended } = home.start(["dashboard", "--no-open", "--port", String(port)], { env });
  const link = await new Promise<string>((found, failed) => {
    let text = "";
    child.stdout.on("data", (piece: string) => {
      text += piece;
      const line = /^(http\S+)\n/m.exec(text)?.[1];
      if (line !== undefined) found(line);
    });
    ended.then(({ stderr }) => failed(new Error(`the dashboard ended: ${stderr}`)), failed);
  });
  return {
    url: new URL(".", link).href.replace(/\/$/, ""),
    pid: child.pid ?? 0,
    async stop(): Promise<void> {
      child.kill("SIGTERM");
      await ended;
    },
  };
}

/** The violations that axe finds on the page now, by all rules or only some. */
export async function findViolations(page: Page, rules?: readonly string[]): Promise<readonly string[]> {
  // Evaluated, because the policy of the page would refuse a script element.
  if (await page.evaluate("typeof axe === 'undefined'")) await page.evaluate(axe.source);
  const options = JSON.stringify({ resultTypes: ["violations"], ...(rules && { runOnly: rules }) });
  const found = (await page.evaluate(
    `axe.run(document, ${options}).then(({ violations }) => violations.map(({ id, nodes }) => id + ': ' + nodes.map(({ html }) => html.slice(0, 160)).join(' | ')))`,
  )) as string[];
  return found;
}

/** The rules to check again in the dark theme, which differs from the light one only in colours. */
const RULES_OF_THEMES = ["color-contrast"];

/**
 * Checks that a page is not wider than the window at any size, takes a screenshot, and checks that axe finds no violation: at
 * each size in both themes with the full counts, otherwise on a light desktop.
 */
export async function checkAppearance(page: Page, name: string): Promise<void> {
  await mkdir(PICTURES, { recursive: true });
  for (const [size, viewport] of Object.entries(SIZES)) {
    await page.setViewportSize(viewport);
    expect(await overflow(page), `${name} ${size}`).toBe(0);
    if (size !== "desktop" && !scale.allAppearances) continue;
    for (const theme of scale.allAppearances ? THEMES : (["light"] as const)) {
      await page.emulateMedia({ colorScheme: theme, reducedMotion: "reduce" });
      await page.evaluate("document.fonts.ready.then(() => undefined)");
      await page.screenshot({ path: join(PICTURES, `${name}-${size}-${theme}.png`) });
      const rules = theme === "light" ? undefined : RULES_OF_THEMES;
      expect(await findViolations(page, rules), `${name} ${size} ${theme}`).toEqual([]);
    }
  }
  await page.setViewportSize(SIZES.desktop);
}

/** How many pixels wider than its window the page is. */
export async function overflow(page: Page): Promise<number> {
  return Number(await page.evaluate("Math.max(0, document.documentElement.scrollWidth - innerWidth)"));
}
