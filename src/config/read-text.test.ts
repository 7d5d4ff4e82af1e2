import { expect, test } from "vitest";
import { type ConfigKey, configKeys, requireKey } from "./keys.ts";
import { readText } from "./read-text.ts";

const keyOf = (name: string): ConfigKey => requireKey(name, configKeys()).key;

test.each(["true", "1", "yes", "on", "YES", " on "])("a boolean reads %j as true", (text) => {
  expect(readText(keyOf("terminal.docker_network"), text)).toEqual({ value: true });
});

test.each(["false", "0", "no", "off", "No"])("a boolean reads %j as false", (text) => {
  expect(readText(keyOf("terminal.docker_network"), text)).toEqual({ value: false });
});

test.each(["maybe", "2", "", "truee", "y"])("a boolean refuses %j", (text) => {
  expect(readText(keyOf("terminal.docker_network"), text)).toHaveProperty("problem");
});

test.each(["", "12a", "0x10", "1,5", "NaN", "Infinity", "1 2"])("a number refuses %j", (text) => {
  expect(readText(keyOf("terminal.timeout"), text)).toHaveProperty("problem");
});

test("a string is taken as it is, spaces and quotes included", () => {
  expect(readText(keyOf("terminal.cwd"), ' "a b" ')).toEqual({ value: ' "a b" ' });
});

test("a list is JSON, and a bare word is refused with an example", () => {
  expect(readText(keyOf("terminal.docker_volumes"), '["/a:/b"]')).toEqual({ value: ["/a:/b"] });
  expect(readText(keyOf("terminal.docker_volumes"), "/a:/b")).toEqual({
    problem: 'expected a JSON list such as ["a","b"]',
  });
});

test("a key that may be unset takes null, none and nothing as unset", () => {
  for (const text of ["null", "none", ""])
    expect(readText(keyOf("kanban.max_spawn"), text)).toEqual({ value: null });
});
