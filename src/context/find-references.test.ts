import { expect, it } from "vitest";
import { findReferences } from "./find-references.ts";

it.each([
  ["Read @file:src/a.ts:10-20, please", ["@file:src/a.ts:10-20"]],
  ["(see @file:notes.md)", ["@file:notes.md"]],
  ['@file:"my notes.md" and @"two words.txt"', ["@file:my notes.md", "@two words.txt"]],
  ["@README.md @src/ @README.md", ["@README.md", "@src/"]],
  ["@diff @staged @git:3 @folder:docs", ["@diff", "@staged", "@git:3", "@folder:docs"]],
  ["@folder:. and @folder:.. or @folder:src/. too", ["@folder:.", "@folder:..", "@folder:src/."]],
  ["@url:https://example.com/a?b=c#d.", ["@url:https://example.com/a?b=c#d"]],
  ["@different is a word, @diff. is not", ["@different", "@diff"]],
  ["me@example.com, \\@file:x, `@file:y`, a/@file:z", []],
  ["```\n@file:in-code\n```\n@ alone", []],
])("agent A11: the references in %j are %j", (text, sources) => {
  const found = findReferences(text).map(({ source }) => source);
  expect(found.toSorted()).toEqual([...sources].sort());
});

it("agent A11: a range of lines, one line and no line", () => {
  const linesOf = (text: string) => findReferences(text).map((one) => "lines" in one && one.lines);
  expect(linesOf("@file:a:2-5 @file:b:7 @file:c")).toEqual([
    { from: 2, to: 5 },
    { from: 7, to: 7 },
    undefined,
  ]);
});
