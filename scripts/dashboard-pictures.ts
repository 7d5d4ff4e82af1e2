import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { chromium } from "playwright-core";

/**
 * Takes the pictures of the dashboard in docs/pictures from the demo of the built program: `npx tsx scripts/dashboard-pictures.ts`.
 * Run it when the pages have changed; a build does not.
 */
const ENTRY = fileURLToPath(new URL("../dist/main.cjs", import.meta.url));
const FOLDER = fileURLToPath(new URL("../docs/pictures", import.meta.url));
const CHROMIUM = "/usr/bin/chromium";
const QUIET = ["--disable-background-networking", "--disable-component-update", "--disable-sync"];
const WITHIN_MS = 120_000;

const demo = spawn(process.execPath, [ENTRY, "demo", "dashboard", "--no-open"], {
  stdio: ["ignore", "pipe", "inherit"],
});
const ended = once(demo, "close");
try {
  await using browser = await chromium.launch({
    executablePath: CHROMIUM,
    args: ["--no-sandbox", "--disable-gpu", "--no-first-run", ...QUIET],
  });
  const page = await browser.newPage({ viewport: { width: 1280, height: 800 } });
  page.setDefaultTimeout(WITHIN_MS);
  const link = await readLink();
  await page.goto(link);
  await page.getByText("MIT or Apache 2.0?").first().waitFor();
  await page.getByText("Write the check").first().waitFor();
  await page.screenshot({ path: `${FOLDER}/dashboard-overview.png` });
  await page.goto(new URL("/board/default", link).href);
  await page.getByText("MIT or Apache 2.0?").first().waitFor();
  await page.screenshot({ path: `${FOLDER}/dashboard-board.png` });
} finally {
  demo.kill("SIGINT");
  await ended;
}

async function readLink(): Promise<string> {
  let printed = "";
  for await (const text of demo.stdout.setEncoding("utf8")) {
    printed += text;
    const [link] = /http:\/\/\S+#\S+/.exec(printed) ?? [];
    if (link !== undefined) return link;
  }
  throw new Error(`the demo printed no link:\n${printed}`);
}
