import fc from "fast-check";
import { expect, test } from "vitest";
import { editEnvFile, parseEnvFile } from "./env-file.ts";

const values = (text: string) =>
  Object.fromEntries(parseEnvFile(text).entries.map(({ name, value }) => [name, value]));

test("comments, export, quotes, inline comments and multi-line values are parsed", () => {
  const text = [
    "# keys",
    "",
    "A=plain # why",
    "export B = spaced ",
    "C='single # not a comment $X'",
    'D="double\\n\\"quoted\\""',
    "E=",
    "F=a#b",
    'G="first',
    'second"',
    "H=last",
  ].join("\n");
  expect(values(text)).toEqual({
    A: "plain",
    B: "spaced",
    C: "single # not a comment $X",
    D: 'double\n"quoted"',
    E: "",
    F: "a#b",
    G: "first\nsecond",
    H: "last",
  });
});

test("an invalid line is reported by its number and the other lines are still parsed", () => {
  const file = parseEnvFile("A=1\nthis is nothing\nB='open\nC=3\n");
  expect(file.badLines).toEqual([2, 3]);
  expect(file.entries.map((entry) => [entry.name, entry.line])).toEqual([
    ["A", 1],
    ["C", 4],
  ]);
});

test("editing changes one variable and keeps every other byte", () => {
  const text = "# mine\nA=1\r\n\nB='two' # b\nA=3\n# end";
  expect(editEnvFile(text, "B", "2")).toBe("# mine\nA=1\r\n\nB=2\nA=3\n# end");
  expect(editEnvFile(text, "A", "9")).toBe("# mine\n\nB='two' # b\nA=9\n# end");
  expect(editEnvFile(text, "B", undefined)).toBe("# mine\nA=1\r\n\nA=3\n# end");
  expect(editEnvFile(text, "C", "new value")).toBe(`${text}\nC='new value'\n`);
});

test("any value can be read back after writing", () => {
  const text = fc.string({ unit: "binary" }).filter((value) => !value.includes("\0"));
  fc.assert(
    fc.property(text, fc.constantFrom("", "A=1\n", "K=old\nB=2\n", "# c"), (value, before) => {
      const after = editEnvFile(before, "K", value);
      expect(values(after)["K"]).toBe(value);
      expect(parseEnvFile(after).badLines).toEqual([]);
    }),
  );
});
