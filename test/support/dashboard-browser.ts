import { mkdir } from "node:fs/promises";
import { join, resolve } from "node:path";
import axe from "axe-core";
import { type Browser, type BrowserContext, chromium, type Page } from "playwright-core";
import { expect } from "vitest";
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

/** A home of its own, the built program that serves its dashboard, and a browser. */
export async function openDashboard(executablePath: string) {
  const home = await tempHome();
  const opened: (() => PromiseLike<unknown>)[] = [() => home[Symbol.asyncDispose]()];
  const close = async (): Promise<void> => {
    for (const end of opened.toReversed()) await end();
  };
  try {
    const args = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"];
    const quiet = ["--disable-background-networking", "--disable-component-update", "--disable-sync"];
    const browser = await chromium.launch({ executablePath, args: [...args, ...quiet] });
    opened.push(() => browser.close());
    let server = await serve(home, 0);
    opened.push(() => server.stop());
    return {
      home,
      browser,
      get url() {
        return server.url;
      },
      /** A page of a browser that is signed in with a link of its own. */
      async page(path = "", look: Look = {}): Promise<Page> {
        const page = await newPage(await newContext(browser, look));
        await page.goto(await newLink(home));
        await page.getByRole("navigation").first().waitFor({ state: "attached" });
        if (path !== "") await page.goto(server.url + path);
        return page;
      },
      /** A page of a browser that is not signed in. */
      stranger: async (look: Look = {}): Promise<Page> => newPage(await newContext(browser, look)),
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

/** What axe finds on the page as it is now; empty is what is expected. */
export async function findBarriers(page: Page): Promise<readonly string[]> {
  await page.evaluate(axe.source); // not as a script of the page, which its policy would refuse
  const found = (await page.evaluate(
    "axe.run(document, { resultTypes: ['violations'] }).then(({ violations }) => violations.map(({ id, nodes }) => id + ': ' + nodes.map(({ html }) => html.slice(0, 160)).join(' | ')))",
  )) as string[];
  return found;
}

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
      expect(await findBarriers(page), `${name} ${size} ${theme}`).toEqual([]);
      expect(await overflow(page), `${name} ${size} ${theme}`).toBe(0);
    }
  }
  await page.setViewportSize(SIZES.desktop);
}

/** By how many pixels the page is wider than its window. */
export async function overflow(page: Page): Promise<number> {
  return Number(await page.evaluate("Math.max(0, document.documentElement.scrollWidth - innerWidth)"));
}
