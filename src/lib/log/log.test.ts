import { execFileSync } from "node:child_process";
import {
  appendFileSync,
  existsSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import fc from "fast-check";
import { expect, test, vi } from "vitest";
import { scale } from "../../../test/support/scale.ts";
import { tempFolder } from "../../../test/support/temp-folder.ts";
import { TurnableClock } from "../../../test/support/turnable-clock.ts";
import { AppError } from "../errors.ts";
import { createRedactor } from "../redact/redactor.ts";
import { type LogOptions, openLog } from "./log.ts";

const SECRET = "correct-horse-battery";
const redactor = createRedactor({ secrets: [SECRET] });
const optionsFor = (folder: string): LogOptions => ({
  folder,
  redactor,
  level: "info",
  component: "main",
  maxSizeBytes: 1_000_000,
  backupCount: 3,
});
const recordsIn = (path: string): Record<string, unknown>[] =>
  readFileSync(path, "utf8")
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line));

test("a line has time, level, component, session, pid and message", async () => {
  await using folder = await tempFolder();
  const clock = new TurnableClock(Date.UTC(2026, 10, 15, 10));
  using log = await openLog({ ...optionsFor(folder.path), clock });
  log.info("started", { port: 80 });
  log.child({ component: "turn" }).child({ session: "s1" }).warn("slow %s", { ms: 1234 });
  expect(recordsIn(folder.file("agent.log"))).toEqual([
    {
      level: "info",
      time: "2026-11-15T10:00:00.000Z",
      pid: process.pid,
      component: "main",
      port: 80,
      msg: "started",
    },
    {
      level: "warn",
      time: "2026-11-15T10:00:00.000Z",
      pid: process.pid,
      component: "turn",
      session: "s1",
      ms: 1234,
      msg: "slow %s",
    },
  ]);
});

test("agent.log starts at the configured level, errors.log at warnings", async () => {
  await using folder = await tempFolder();
  for (const level of ["debug", "info", "warn", "error"] as const) {
    using log = await openLog({ ...optionsFor(folder.file(level)), level });
    for (const method of ["debug", "info", "warn", "error"] as const) log[method]("x");
  }
  const levelsIn = (name: string) => recordsIn(folder.file(name)).map(({ level }) => level);
  expect(levelsIn("debug/agent.log")).toEqual(["debug", "info", "warn", "error"]);
  expect(levelsIn("info/agent.log")).toEqual(["info", "warn", "error"]);
  expect(levelsIn("warn/agent.log")).toEqual(["warn", "error"]);
  expect(levelsIn("error/agent.log")).toEqual(["error"]);
  for (const level of ["debug", "info", "warn", "error"]) {
    expect(levelsIn(`${level}/errors.log`)).toEqual(["warn", "error"]);
  }
});

test("an error is written with its stack, its code and all its causes", async () => {
  await using folder = await tempFolder();
  using log = await openLog(optionsFor(folder.path));
  const cause = new AggregateError([new TypeError("innermost"), "text"], "inner", { cause: 5 });
  log.error("failed", {
    error: new AppError("config-invalid", "outer", { cause }),
    list: [new Error("listed")],
  });
  expect(recordsIn(folder.file("errors.log"))).toMatchObject([
    {
      error: {
        name: "AppError",
        code: "config-invalid",
        message: "outer",
        stack: expect.stringContaining("log.test.ts"),
        cause: { message: "inner", cause: 5, errors: [{ name: "TypeError", message: "innermost" }, "text"] },
      },
      list: [{ message: "listed" }],
      msg: "failed",
    },
  ]);
});

test("an error that is its own cause is written all the same", async () => {
  await using folder = await tempFolder();
  using log = await openLog(optionsFor(folder.path));
  const error = new Error("round");
  error.cause = error;
  log.error("failed", { error });
  expect(recordsIn(folder.file("errors.log"))).toMatchObject([
    { error: { message: "round" }, msg: "failed" },
  ]);
  expect(log.lost).toBe(0);
});

test("fields cannot overwrite the reserved fields of a line", async () => {
  await using folder = await tempFolder();
  using log = await openLog(optionsFor(folder.path));
  log.info("true", { level: "error", time: "never", pid: 1, component: "other", session: "s", msg: "false" });
  expect(recordsIn(folder.file("agent.log"))).toMatchObject([
    { level: "info", component: "main", msg: "true", msg_: "false" },
  ]);
  expect(existsSync(folder.file("errors.log"))).toBe(false);
});

test("every line is valid JSON without secrets, whatever is logged", async () => {
  await using folder = await tempFolder();
  using log = await openLog(optionsFor(folder.path));
  const secretive = fc.oneof(
    fc.constant(SECRET),
    fc.constant(`\n"${SECRET}\\`),
    fc.string({ unit: "binary" }).map((text) => `${text}${SECRET}${text}`),
  );
  const anything = fc.anything({ withBigInt: true, withDate: true, withMap: true, withNullPrototype: true });
  const fields = fc.dictionary(
    fc.oneof(fc.string(), secretive),
    fc.oneof(
      anything,
      secretive,
      fc.tuple(secretive),
      fc.record({ a: secretive }),
      secretive.map((text) => new Error(text)),
    ),
  );
  fc.assert(
    fc.property(fc.oneof(fc.string({ unit: "binary" }), secretive), fields, (message, given) => {
      rmSync(folder.file("agent.log"), { force: true });
      log.info(message, given);
      const text = readFileSync(folder.file("agent.log"), "utf8");
      expect(text.indexOf("\n")).toBe(text.length - 1);
      expect(JSON.parse(text)).toMatchObject({ level: "info", component: "main", pid: process.pid });
      expect(text).not.toContain(SECRET);
    }),
    { numRuns: scale.cases },
  );
});

test("the value of a secret name is hidden, and so is the password in an address", async () => {
  await using folder = await tempFolder();
  using log = await openLog(optionsFor(folder.path));
  log.info("connected", { password: "hunter2", url: new URL("postgres://me:hunter2@host/db") });
  expect(readFileSync(folder.file("agent.log"), "utf8")).not.toContain("hunter2");
});

test("a huge text is truncated, and no part of a secret remains at the scan limit", async () => {
  await using folder = await tempFolder();
  const secret = "0123456789".repeat(300);
  using log = await openLog({ ...optionsFor(folder.path), redactor: createRedactor({ secrets: [secret] }) });
  log.info("big", { text: "x".repeat(1_000_000), list: `${secret} `.repeat(300) });
  const [record] = recordsIn(folder.file("agent.log"));
  expect(record?.["text"]).toMatch(/^x{16384}… \(1000000 characters\)$/);
  expect(record?.["list"]).not.toMatch(/0123456789/);
});

test("the folder and the files are accessible only to their owner", async () => {
  await using folder = await tempFolder();
  using log = await openLog(optionsFor(folder.file("a/logs")));
  expect(existsSync(folder.file("a"))).toBe(false); // nothing was logged yet
  log.error("x");
  const modeOf = (name: string) => statSync(folder.file(name)).mode & 0o777;
  expect(["a/logs", "a/logs/agent.log", "a/logs/errors.log"].map(modeOf)).toEqual([0o700, 0o600, 0o600]);
});

test("a log that reaches its maximum size is rotated, and exactly the configured number of old files is kept", async () => {
  await using folder = await tempFolder();
  writeFileSync(folder.file("agent.log.5"), "left from when more were kept");
  writeFileSync(folder.file("agent.log.4"), "left from when more were kept");
  using log = await openLog({ ...optionsFor(folder.path), maxSizeBytes: 5_000 });
  for (let rotation = 1; rotation <= 6; rotation++) {
    log.info(`number ${rotation}`, { padding: "x".repeat(5_000) });
    await vi.waitFor(() => expect(existsSync(folder.file("agent.log"))).toBe(false), 60_000);
  }
  log.info("number 7");
  const messagesIn = (name: string) => recordsIn(folder.file(name)).map(({ msg }) => msg);
  expect(messagesIn("agent.log")).toEqual(["number 7"]);
  expect(messagesIn("agent.log.1")).toEqual(["number 6"]);
  expect(messagesIn("agent.log.2")).toEqual(["number 5"]);
  expect(messagesIn("agent.log.3")).toEqual(["number 4"]);
  expect(["agent.log.4", "agent.log.5"].filter((name) => existsSync(folder.file(name)))).toEqual([]);
  expect(log.lost).toBe(0);
});

test("with a backup count of 0, a log that reaches its maximum size starts again empty", async () => {
  await using folder = await tempFolder();
  using log = await openLog({ ...optionsFor(folder.path), maxSizeBytes: 100, backupCount: 0 });
  log.info("first", { padding: "x".repeat(100) });
  await vi.waitFor(() => expect(existsSync(folder.file("agent.log"))).toBe(false), 60_000);
  log.info("second");
  expect(recordsIn(folder.file("agent.log"))).toMatchObject([{ msg: "second" }]);
  expect(existsSync(folder.file("agent.log.1"))).toBe(false);
});

test("the rotation after a crashed rotation loses no lines", async () => {
  await using folder = await tempFolder();
  using log = await openLog({ ...optionsFor(folder.path), maxSizeBytes: 100 });
  appendFileSync(folder.file("agent.log.2"), "second");
  appendFileSync(folder.file("agent.log.3"), "third"); // the crashed rotation has moved 1 to 2, but not the log to 1
  log.info("new", { padding: "x".repeat(100) });
  await vi.waitFor(() => expect(existsSync(folder.file("agent.log.1"))).toBe(true), 60_000);
  expect(readFileSync(folder.file("agent.log.2"), "utf8")).toBe("second");
  expect(readFileSync(folder.file("agent.log.3"), "utf8")).toBe("third");
});

test("the next line goes to a new file after another process has renamed the log", async () => {
  await using folder = await tempFolder();
  using log = await openLog(optionsFor(folder.path));
  log.info("one");
  renameSync(folder.file("agent.log"), folder.file("agent.log.1"));
  log.info("two");
  rmSync(folder.path, { recursive: true });
  log.info("three");
  expect(recordsIn(folder.file("agent.log"))).toMatchObject([{ msg: "three" }]);
  expect(log.lost).toBe(0);
});

test("on a full disk the log counts lost lines and resumes when space is available", async () => {
  await using folder = await tempFolder();
  using log = await openLog(optionsFor(folder.path));
  symlinkSync("/dev/full", folder.file("agent.log"));
  log.info("one");
  log.child({ session: "s" }).warn("two");
  expect(log.lost).toBe(2);
  expect(recordsIn(folder.file("errors.log"))).toMatchObject([{ msg: "two" }]);
  rmSync(folder.file("agent.log"));
  log.info("three");
  expect(log.lost).toBe(2);
  expect(recordsIn(folder.file("agent.log"))).toMatchObject([{ msg: "three" }]);
});

test("lines for an unusable folder are counted as lost", async () => {
  await using folder = await tempFolder();
  writeFileSync(folder.file("file"), "");
  using log = await openLog(optionsFor(folder.file("file")));
  log.error("one");
  log.info("two");
  expect(log.lost).toBe(2);
});

test("a pipe without a reader does not block the program", async () => {
  await using folder = await tempFolder();
  using log = await openLog(optionsFor(folder.path));
  execFileSync("mkfifo", [folder.file("agent.log")]);
  log.info("one");
  expect(log.lost).toBe(1);
});

test("fields that cannot be read lose the line but do not throw", async () => {
  await using folder = await tempFolder();
  using log = await openLog(optionsFor(folder.path));
  const fields = {
    get broken(): string {
      throw new Error("no");
    },
  };
  log.info("one", fields);
  expect(log.lost).toBe(1);
});

test("lines written after the log was closed are counted as lost", async () => {
  await using folder = await tempFolder();
  const log = await openLog(optionsFor(folder.path));
  log.info("one");
  log[Symbol.dispose]();
  log.info("two");
  expect(recordsIn(folder.file("agent.log"))).toHaveLength(1);
  expect(log.lost).toBe(1);
});
