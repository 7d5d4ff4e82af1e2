import { expect, test } from "vitest";
import { findVariable, readProcNow } from "./proc.ts";

test("a variable is found by its whole name, wherever it is in the environment", () => {
  const environ = "FIRST=1\0XNAME=no\0NAME=a=b\0EMPTY=\0LAST=z";
  expect(["FIRST", "NAME", "EMPTY", "LAST"].map((name) => findVariable(environ, name))).toEqual([
    "1",
    "a=b",
    "",
    "z",
  ]);
  expect(["IRST", "AME", "NAM", "b"].map((name) => findVariable(environ, name))).toEqual(
    Array.from({ length: 4 }, () => undefined),
  );
  expect(findVariable("", "NAME")).toBeUndefined();
});

test.runIf(process.platform === "linux")("a file of a process that does not exist is empty", () => {
  expect(readProcNow(process.pid, "stat")).toContain(String(process.pid));
  expect(readProcNow(2 ** 30, "stat")).toBe("");
});
