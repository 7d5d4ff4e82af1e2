import { appendFileSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { type DashboardHome, openDashboardHome } from "../../../../../test/support/dashboard-home.ts";
import { neverAborted } from "../../../../lib/time/never-aborted.ts";
import { auditAnswerSchema, type LogLines, logAnswerSchema } from "../../../contract/logs.ts";
import { createLogSource } from "../../../live/sources/logs.ts";

const START = Date.UTC(2026, 0, 1);

const lineOf = (number: number, fields: object = {}): string => {
  const time = new Date(START + number * 1_000).toISOString();
  return `${JSON.stringify({ level: "info", time, pid: 1, component: "main", msg: `m${number}`, ...fields })}\n`;
};

function writeLog(home: DashboardHome, text: string, name = "agent.log"): string {
  mkdirSync(home.folder.file("logs"), { recursive: true });
  writeFileSync(home.folder.file(join("logs", name)), text);
  return home.folder.file(join("logs", name));
}

const read = (home: DashboardHome, query = "", profile = "default") =>
  home.ask(logAnswerSchema, "GET", `profiles/${profile}/logs?${query}`);

test("a log is read from its end, page by page, across rotated files and without a gap", async () => {
  await using home = await openDashboardHome();
  const numbers = Array.from({ length: 1_300 }, (_, number) => number);
  writeLog(
    home,
    numbers
      .slice(0, 700)
      .map((number) => lineOf(number))
      .join(""),
    "agent.log.1",
  );
  writeLog(
    home,
    numbers
      .slice(700)
      .map((number) => lineOf(number))
      .join(""),
  );
  const texts: string[] = [];
  let pages = 0;
  for (let before: string | null | undefined; before !== null; pages += 1) {
    const page = await read(home, before === undefined ? "" : `before=${encodeURIComponent(before)}`);
    texts.unshift(...page.lines.map(({ text }) => text));
    before = page.older;
  }
  expect(texts).toEqual(numbers.map((number) => `m${number}`));
  expect(pages).toBe(3);
});

test("no answer is larger than 256 kB, and a line of any size is shortened", async () => {
  await using home = await openDashboardHome();
  const huge = `${"x".repeat(1_500_000)}\n`;
  const long = Array.from({ length: 400 }, (_, number) => lineOf(number, { text: "ä".repeat(3_000) }));
  writeLog(home, huge + long.join(""));
  const { text } = await home.send("GET", "profiles/default/logs");
  expect(Buffer.byteLength(text)).toBeLessThan(256 * 1024);
  writeLog(home, lineOf(1) + huge + lineOf(2));
  const { lines } = await read(home);
  expect(lines.map((line) => line.text.length)).toEqual([2, 2_001, 2]);
});

test("each filter applies, and they apply together", async () => {
  await using home = await openDashboardHome();
  writeLog(
    home,
    [
      lineOf(1, { level: "error", session: "a", component: "x", tool: "Grep" }),
      lineOf(2, { level: "warn", session: "b", component: "x" }),
      lineOf(3, { level: "debug", session: "a", component: "y" }),
      "not a record\n",
    ].join(""),
  );
  const found = async (query: string) => (await read(home, query)).lines.map(({ text }) => text);
  expect(await found("")).toEqual(["m1", "m2", "m3", "not a record"]);
  expect(await found("level=warn")).toEqual(["m1", "m2"]);
  expect(await found("component=x&session=b")).toEqual(["m2"]);
  expect(await found("q=tool=GREP")).toEqual(["m1"]);
  expect(await found("q=record")).toEqual(["not a record"]);
  expect(await found(`since=${START + 2_500}`)).toEqual(["m3"]);
});

test("secrets are redacted even in lines that were stored before, and no search finds them", async () => {
  const secret = "sk-or-v1-0123456789abcdefghijklmnop";
  await using home = await openDashboardHome({}, { OPENROUTER_API_KEY: secret });
  writeLog(home, lineOf(1, { msg: `key ${secret}`, data: { key: secret } }));
  const { text } = await home.send("GET", "profiles/default/logs");
  expect(text).toContain("key ");
  expect(text).not.toContain(secret);
  expect((await read(home, `q=${secret}`)).lines).toEqual([]);
});

test("each profile has its own log, and there are no others", async () => {
  await using home = await openDashboardHome();
  mkdirSync(home.folder.file("profiles/coder/logs"), { recursive: true });
  writeFileSync(home.folder.file("profiles/coder/logs/agent.log"), lineOf(7));
  expect((await read(home, "", "coder")).lines.map(({ text }) => text)).toEqual(["m7"]);
  expect((await read(home)).lines).toEqual([]);
  for (const path of ["profiles/nobody/logs", "profiles/..%2F..%2Fetc/logs"])
    expect([400, 404], path).toContain((await home.send("GET", path)).status);
  for (const file of ["dashboard-audit", "../../.env", "agent.log%00"])
    expect((await home.send("GET", `profiles/default/logs?file=${file}`)).status, file).toBe(400);
});

test("A22: the audit is shown to admins only", async () => {
  await using home = await openDashboardHome();
  writeLog(home, lineOf(1, { msg: "sign-in", outcome: "done", address: "127.0.0.1" }), "dashboard-audit.log");
  const { lines } = await home.ask(auditAnswerSchema, "GET", "audit");
  expect(lines[0]).toMatchObject({ text: "sign-in", details: "outcome=done address=127.0.0.1" });
  const reader = await home.signIn(["read", "work", "shell"]);
  expect((await home.send("GET", "audit", { cookie: reader })).status).toBe(403);
});

test("new lines are published once, with the places that the snapshot uses, and a flood keeps the newest", async () => {
  await using home = await openDashboardHome();
  const path = writeLog(home, lineOf(1));
  const published: LogLines[] = [];
  const source = createLogSource(home.data.profiles);
  const sink = {
    publish: (_: string, data: unknown) => void published.push(data as LogLines),
    fail: () => undefined,
  };
  await using _ = await source.open("default/agent", sink, neverAborted);
  appendFileSync(path, lineOf(2));
  await expect.poll(() => published.flatMap(({ lines }) => lines.map(({ text }) => text))).toEqual(["m2"]);
  const { lines, ends } = await read(home);
  expect(published[0]?.lines[0]).toEqual(lines.at(-1));
  expect(ends[lines.at(-1)?.file ?? ""]).toBe(lines.at(-1)?.end);

  published.length = 0;
  appendFileSync(path, Array.from({ length: 40_000 }, (_, number) => lineOf(number)).join(""));
  const last = () => published.at(-1)?.lines.at(-1)?.text;
  await expect.poll(last, { timeout: 20_000 }).toBe("m39999");
  expect(Math.max(...published.map(({ lines }) => lines.length))).toBeLessThanOrEqual(1_000);
  const total = published.reduce((sum, { lines, skipped }) => sum + lines.length + skipped, 0);
  expect(total).toBe(40_000);
});
