import type { CDPSession, Page } from "playwright-core";
import type { CardsAnswer } from "../src/api/contract/boards.ts";
import { launchBrowser, openDashboard } from "../test/support/dashboard-browser.ts";
import { fillBoard } from "../test/support/fill-board.ts";
import { loadPart } from "../test/support/services.ts";
import { type Bench, type Measurement, median } from "./bench.ts";

type Dashboard = Awaited<ReturnType<typeof openDashboard>>;

const ROUNDS = 5;
const SCROLLED_FRAMES = 120;

/** What the board costs a browser with many tasks, compared with few. */
export const dashboardBoardBench: Bench = {
  name: "dashboard-board",
  async run() {
    const chromium = loadPart("chromium");
    if (chromium.state !== "running") throw new Error(`Chromium is needed: ${chromium.reason}`);
    await using browser = await launchBrowser(chromium.executable);
    await using dashboard = await openDashboard(browser);
    await fillBoard(dashboard.home, "small", 100);
    await fillBoard(dashboard.home, "middle", 1_000);
    await fillBoard(dashboard.home, "large", 10_000);
    const page = await dashboard.page();
    const session = await page.context().newCDPSession(page);
    await session.send("Performance.enable");
    const few: number[] = [];
    const many: number[] = [];
    for (let round = 0; round <= ROUNDS; round++) {
      const costs = [
        await costOfOpening(dashboard, page, session, "small"),
        await costOfOpening(dashboard, page, session, "large"),
      ];
      if (round === 0) continue; // the first round compiles the page
      few.push(costs[0] ?? 0);
      many.push(costs[1] ?? 0);
    }
    const nodesOfMany = await countNodes(page);
    const ours = await scroll(page);
    await costOfOpening(dashboard, page, session, "small");
    const peer = await scroll(page);
    const burst = await costOfEvents(dashboard, page, session, 2_000);
    const trickle = await costOfEvents(dashboard, page, session, 20);
    await costOfOpening(dashboard, page, session, "middle");
    const nodesOfFew = await countNodes(page);
    return [
      compare("CPU until a board of 10,000 tasks is painted, to 100", median(many), median(few), 1.5, " ms"),
      compare("elements of a board of 10,000 tasks, to 1,000", nodesOfMany, nodesOfFew, 1.2, ""),
      compare("CPU of a burst of 2,000 events, to 20", burst, trickle, 10, " ms"),
      {
        ...compare(
          "frames a second while scrolling 10,000, to 100",
          ours.framesPerSecond,
          peer.framesPerSecond,
          1,
          "",
        ),
        budget: { min: 0.8 },
      },
      compare("95th percentile of a frame, 10,000 to 100", ours.slowFrame, peer.slowFrame, 1.5, " ms"),
    ];
  },
};

/** CPU time of the page's main thread until the first cards are painted. */
async function costOfOpening(
  { url }: Dashboard,
  page: Page,
  session: CDPSession,
  slug: string,
): Promise<number> {
  await page.goto("about:blank");
  const before = await cpuTime(session);
  await page.goto(`${url}/board/${slug}`);
  await page.locator("[data-cards=done] [data-card]").first().waitFor();
  await page.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))");
  return (await cpuTime(session)) - before;
}

/** CPU time of the main thread so far, in milliseconds. */
async function cpuTime(session: CDPSession): Promise<number> {
  const { metrics } = await session.send("Performance.getMetrics");
  return (metrics.find(({ name }) => name === "TaskDuration")?.value ?? 0) * 1_000;
}

const countNodes = async (page: Page): Promise<number> =>
  Number(await page.evaluate("document.querySelectorAll('*').length"));

/** Scrolls the longest column for two seconds, and reports its frame times. */
async function scroll(page: Page): Promise<{ framesPerSecond: number; slowFrame: number }> {
  const times = (await page.evaluate(`new Promise((done) => {
    const box = document.querySelector("[data-scroll-restoration-id=column-done]");
    const times = [];
    const step = (at) => {
      times.push(at);
      box.scrollTop += 60;
      if (times.length > ${SCROLLED_FRAMES}) done(times);
      else requestAnimationFrame(step);
    };
    requestAnimationFrame(step);
  })`)) as readonly number[];
  const frames = times.slice(1).map((at, index) => at - (times[index] ?? at));
  const sorted = frames.toSorted((a, b) => a - b);
  const total = frames.reduce((sum, frame) => sum + frame, 0);
  return {
    framesPerSecond: (frames.length / total) * 1_000,
    slowFrame: sorted[Math.floor(sorted.length * 0.95)] ?? 0,
  };
}

/** CPU time of the main thread for a number of events that arrive at once. */
async function costOfEvents(
  { url }: Dashboard,
  page: Page,
  session: CDPSession,
  count: number,
): Promise<number> {
  await page.goto("about:blank");
  const cards = page.waitForResponse((response) => response.url().includes("/boards/large/cards"));
  let release = (): void => undefined;
  const released = new Promise<void>((resolve) => {
    release = resolve;
  });
  await page.route(
    /\/api\/events\?/,
    async (route) => {
      const snapshot = (await (await cards).json()) as CardsAnswer;
      await released;
      await route.fulfill({ contentType: "text/event-stream", body: streamOf(snapshot, count) });
    },
    { times: 1 },
  );
  await page.goto(`${url}/board/large`);
  await page.locator("[data-cards=done] [data-card]").first().waitFor();
  const before = await cpuTime(session);
  release();
  await page.getByText(`Change ${count}.`, { exact: true }).waitFor();
  return (await cpuTime(session)) - before;
}

/** A stream with a number of changes to the shown cards, after the position of their snapshot. */
function streamOf({ columns, at, event }: CardsAnswer, count: number): string {
  const shown = columns.find(({ status }) => status === "done")?.cards.slice(0, 20) ?? [];
  const [epoch = "", sequence = "0"] = at.split(".");
  const counts = Object.fromEntries(columns.map(({ status, count: tasks }) => [status, tasks]));
  const message = (name: string, topic: string | null, data: object, id?: string): string =>
    `${id === undefined ? "" : `id: ${id}\n`}event: ${name}\ndata: ${JSON.stringify({ topic, data })}\n\n`;
  const changes = Array.from({ length: count }, (_, index) => {
    const number = index + 1;
    const card = { ...shown[index % shown.length], title: `Change ${number}.`, updatedAt: number };
    const change = {
      board: "large",
      cards: [card],
      gone: [],
      counts,
      paused: false,
      events: [],
      isLarge: false,
    };
    const id = `${epoch}.${Number(sequence) + number}`;
    return message("board-change", "board:large", { ...change, event: event + number }, id);
  });
  return message("hello", null, { at, resumed: true, version: "0" }) + changes.join("");
}

function compare(name: string, ours: number, peer: number, max: number, unit: string): Measurement {
  const show = (value: number): string => `${Number(value.toFixed(1))}${unit}`;
  return { name, ours: show(ours), peer: show(peer), ratio: ours / peer, budget: { max } };
}
