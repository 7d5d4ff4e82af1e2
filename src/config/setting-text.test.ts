import { expect, test } from "vitest";
import { type ConfigKey, configKeys, requireKey } from "./config-keys.ts";
import { parseSettingText } from "./setting-text.ts";

const keyOf = (name: string): ConfigKey => requireKey(name, configKeys()).key;

test.each(["true", "1", "yes", "on", "YES", " on "])("a boolean setting parses %j as true", (text) => {
  expect(parseSettingText(keyOf("terminal.docker_network"), text)).toEqual({ value: true });
});

test.each(["false", "0", "no", "off", "No"])("a boolean setting parses %j as false", (text) => {
  expect(parseSettingText(keyOf("terminal.docker_network"), text)).toEqual({ value: false });
});

test.each(["maybe", "2", "", "truee", "y"])("a boolean setting refuses %j", (text) => {
  expect(parseSettingText(keyOf("terminal.docker_network"), text)).toHaveProperty("problem");
});

test.each(["", "12a", "0x10", "1,5", "NaN", "Infinity", "1 2"])("a number setting refuses %j", (text) => {
  expect(parseSettingText(keyOf("terminal.timeout"), text)).toHaveProperty("problem");
});

test("a string is used unchanged, including spaces and quotes", () => {
  expect(parseSettingText(keyOf("terminal.cwd"), ' "a b" ')).toEqual({ value: ' "a b" ' });
});

test("a list is JSON, and a bare word is refused with an example", () => {
  expect(parseSettingText(keyOf("terminal.docker_volumes"), '["/a:/b"]')).toEqual({ value: ["/a:/b"] });
  expect(parseSettingText(keyOf("terminal.docker_volumes"), "/a:/b")).toEqual({
    problem: 'expected a JSON list such as ["a","b"]',
  });
});

test("a nullable key accepts null, none and empty text as null", () => {
  for (const text of ["null", "none", ""])
    expect(parseSettingText(keyOf("kanban.max_spawn"), text)).toEqual({ value: null });
});
