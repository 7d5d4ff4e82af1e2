import { mkdir } from "node:fs/promises";
import { join, resolve } from "node:path";
import axe from "axe-core";
import { type Browser, type BrowserContext, type Cookie, chromium, type Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, expect } from "vitest";
import { tempHome } from "./hermes.ts";

/** Pictures of the pages, kept after the run; looked at by people, compared with nothing. */
const PICTURES = resolve(import.meta.dirname, "../../.artifacts/dashboard");
/** Ends what hangs; a busy machine is no failure. */
export const WITHIN_MS = 120_000;

export const SIZES = {
  desktop: { width: 1440, height: 900 },
  phone: { width: 390, height: 844 },
} as const;
const THEMES = ["light", "dark"] as const;

export interface Look {
  readonly size?: keyof typeof SIZES | { readonly width: number; readonly height: number };
  readonly theme?: (typeof THEMES)[number];
}

export function launchBrowser(executablePath: string): Promise<Browser> {
  const args = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"];
  const quiet = ["--disable-background-networking", "--disable-component-update", "--disable-sync"];
  return chromium.launch({ executablePath, args: [...args, ...quiet] });
}

/** A Chromium and a dashboard that the tests of one file share. */
export function shareDashboard(executablePath: string) {
  let browser: Browser | undefined;
  let dashboard: Dashboard | undefined;
  beforeAll(async () => {
    browser = await launchBrowser(executablePath);
    dashboard = await openDashboard(browser);
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

/** A home of its own and the built program that serves its dashboard. Disposing closes the pages too. */
export async function openDashboard(browser: Browser) {
  const home = await tempHome();
  let contexts: BrowserContext[] = [];
  const opened: (() => PromiseLike<unknown>)[] = [() => home[Symbol.asyncDispose]()];
  const close = async (): Promise<void> => {
    for (const end of opened.toReversed()) await end();
  };
  try {
    let server = await serve(home, 0);
    opened.push(() => server.stop());
    opened.push(() => Promise.all(contexts.map((context) => context.close())));
    let signedIn: Cookie[] | undefined;
    let tab: Page | undefined;
    const open = async (look: Look): Promise<Page> => {
      const context = await newContext(browser, look);
      contexts.push(context);
      return newPage(context);
    };
    /** A page of another browser that is signed in. */
    const page = async (path = "", look: Look = {}): Promise<Page> => {
      const opened = await open(look);
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
      page,
      /** The page that tests use one after the other, as if it were new: a new one costs four times as much. */
      async tab(path = ""): Promise<Page> {
        if (tab === undefined) {
          tab = await page(path);
          return tab;
        }
        await tab.evaluate("localStorage.clear()");
        await tab.setViewportSize(SIZES.desktop);
        await tab.emulateMedia({ colorScheme: "light", reducedMotion: "reduce" });
        await tab.mouse.move(0, 0);
        await tab.goto(server.url + path, { waitUntil: "commit" });
        errorsOf.get(tab)?.splice(0);
        await tab.waitForLoadState();
        return tab;
      },
      /** Closes all pages but the one of `tab`. */
      async closePages(): Promise<void> {
        const kept = tab?.context();
        const others = contexts.filter((context) => context !== kept);
        contexts = kept === undefined ? [] : [kept];
        await Promise.all(others.map((context) => context.close()));
        const besides = kept?.pages().filter((page) => page !== tab) ?? [];
        await Promise.all(besides.map((page) => page.close()));
      },
      /** A page of a browser that is not signed in. */
      stranger: (look: Look = {}): Promise<Page> => open(look),
      link: () => newLink(home),
      /** Ends the server and starts it again at the same address; `between` happens while there is none. */
      async restart(between: () => Promise<void> = async () => undefined): Promise<void> {
        const port = Number(new URL(server.url).port);
        await server.stop();
        await between();
        server = await serve(home, port);
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
  { size = "desktop", theme = "light" }: Look,
): Promise<BrowserContext> {
  const viewport = typeof size === "string" ? SIZES[size] : size;
  const context = await browser.newContext({ viewport, colorScheme: theme, reducedMotion: "reduce" });
  context.setDefaultTimeout(WITHIN_MS);
  return context;
}

/** Every message of the console that is not expected fails the test that reads it. */
const errorsOf = new WeakMap<Page, string[]>();

async function newPage(context: BrowserContext): Promise<Page> {
  const page = await context.newPage();
  const errors: string[] = [];
  errorsOf.set(page, errors);
  page.on("pageerror", ({ message }) => errors.push(message));
  page.on("console", (line) => {
    // A refused or lost request is part of what is tested; what the page makes of it is not an error.
    if (line.type() === "error" && !/^Failed to load resource/.test(line.text())) errors.push(line.text());
  });
  return page;
}

/** Errors of the page, such as exceptions and violations of the content security policy. */
export const pageErrors = (page: Page): readonly string[] => errorsOf.get(page) ?? [];

async function newLink(home: Awaited<ReturnType<typeof tempHome>>): Promise<string> {
  const { stdout, stderr, exitCode } = await home.hermes(["dashboard", "link"]);
  if (exitCode !== 0) throw new Error(stderr);
  return stdout.trim();
}

async function serve(home: Awaited<ReturnType<typeof tempHome>>, port: number) {
  const { child, ended } = home.start(["dashboard", "--no-open", "--port", String(port)]);
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
    async stop(): Promise<void> {
      child.kill("SIGTERM");
      await ended;
    },
  };
}

/** What axe finds on the page as it is now, with all rules or only some; empty is what is expected. */
export async function findBarriers(page: Page, rules?: readonly string[]): Promise<readonly string[]> {
  // Not as a script of the page, which its policy would refuse.
  if (await page.evaluate("typeof axe === 'undefined'")) await page.evaluate(axe.source);
  const options = JSON.stringify({ resultTypes: ["violations"], ...(rules && { runOnly: rules }) });
  const found = (await page.evaluate(
    `axe.run(document, ${options}).then(({ violations }) => violations.map(({ id, nodes }) => id + ': ' + nodes.map(({ html }) => html.slice(0, 160)).join(' | ')))`,
  )) as string[];
  return found;
}

/** The themes have the same elements at the same places and differ only in colours. */
const RULES_OF_THEMES = ["color-contrast"];

/**
 * Takes a picture of a page in both themes and sizes, and checks in each that axe finds nothing and that nothing is wider than
 * the window.
 */
export async function look(page: Page, name: string): Promise<void> {
  await mkdir(PICTURES, { recursive: true });
  for (const [size, viewport] of Object.entries(SIZES)) {
    for (const theme of THEMES) {
      await page.setViewportSize(viewport);
      await page.emulateMedia({ colorScheme: theme, reducedMotion: "reduce" });
      await page.evaluate("document.fonts.ready.then(() => undefined)");
      await page.screenshot({ path: join(PICTURES, `${name}-${size}-${theme}.png`) });
      const rules = theme === "light" ? undefined : RULES_OF_THEMES;
      expect(await findBarriers(page, rules), `${name} ${size} ${theme}`).toEqual([]);
      expect(await overflow(page), `${name} ${size} ${theme}`).toBe(0);
    }
  }
  await page.setViewportSize(SIZES.desktop);
}

/** By how many pixels the page is wider than its window. */
export async function overflow(page: Page): Promise<number> {
  return Number(await page.evaluate("Math.max(0, document.documentElement.scrollWidth - innerWidth)"));
}
