import { expect, test } from "vitest";
import type { LogLine } from "../../../../src/api/contract/logs.ts";
import { appendLines, MAX_ROWS, openRows, prependPage } from "./log-rows.ts";
import { readLogSearch, toFilter } from "./log-search.ts";

const line = (end: number, fields: Partial<LogLine> = {}): LogLine => ({
  ...{
    file: "1:1",
    end,
    at: end,
    level: "info",
    component: "main",
    session: null,
    text: `m${end}`,
    details: "",
  },
  ...fields,
});
const answer = (lines: LogLine[], older: string | null = null) => ({
  ...{ lines, older, ends: { "1:1": lines.at(-1)?.end ?? 0 }, at: "x.1" as never },
});

test("lines of the stream that the snapshot has are not shown twice, and others are filtered", () => {
  const rows = openRows(answer([line(1), line(2)]));
  const lines = [line(2), line(3), line(4, { level: "error" }), line(1, { file: "1:2", level: "error" })];
  const next = appendLines(rows, { lines, skipped: 0 }, { level: "warn" });
  expect(next.rows.map((row) => ("skipped" in row ? "…" : `${row.file} ${row.text}`))).toEqual([
    "1:1 m1",
    "1:1 m2",
    "1:1 m4",
    "1:2 m1",
  ]);
  expect(next.ends).toEqual({ "1:1": 4, "1:2": 1 });
  expect(appendLines(next, { lines, skipped: 0 }, {}).rows).toHaveLength(4);
});

test("the page has 5,000 rows at most, however many lines come, and says where some are missing", () => {
  let rows = openRows(answer([]));
  for (let start = 0; start < 40_000; start += 1_000) {
    const lines = Array.from({ length: 1_000 }, (_, index) => line(start + index + 1));
    rows = appendLines(rows, { lines, skipped: start === 39_000 ? 7 : 0 }, {});
  }
  expect(rows.rows).toHaveLength(MAX_ROWS);
  expect(rows.older).toBeNull();
  expect(rows.rows.filter((row) => "skipped" in row)).toEqual([{ skipped: 7, key: "before 1:1@39001" }]);
  expect(prependPage(rows, answer([line(1)], "x")).rows).toHaveLength(MAX_ROWS);
});

test("every part of the filter is read from the address, and nonsense is ignored", () => {
  const search = readLogSearch({
    ...{ file: "errors", level: "warn", component: "board", session: "s1", since: "hour", q: 12, x: 1 },
  });
  expect(search).toEqual({
    ...{ file: "errors", level: "warn", component: "board", session: "s1", since: "hour", q: "12" },
  });
  expect(toFilter(search, 4_000_000)).toEqual({
    ...{ level: "warn", component: "board", session: "s1", since: 400_000, q: "12" },
  });
  expect(readLogSearch({ file: "../x", level: "loud", since: "ever", q: {}, session: "" })).toEqual({});
});
