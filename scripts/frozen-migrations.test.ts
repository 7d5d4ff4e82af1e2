import { expect, test } from "vitest";
import { findChangedMigrations } from "./frozen-migrations.ts";

const steps = [
  { name: "first", text: "create table a (x)" },
  { name: "second", text: "alter table a add column y" },
];
const landed = findChangedMigrations({ s: steps }, {}).map((line) => /"(.+)"/.exec(line)?.[1] ?? "");

test("steps that are what they were are no finding", () => {
  expect(findChangedMigrations({ s: steps }, { s: landed })).toEqual([]);
});

test("a step that changed, is new or has gone is told with what to do", () => {
  const edited = [{ name: "first", text: "create table a (x, z)" }, ...steps.slice(1)];
  expect(findChangedMigrations({ s: edited }, { s: landed }).join()).toMatch(
    /^s: step 1 is "first .+" and was "first .+" when it landed\..+ add a step\.$/,
  );
  expect(findChangedMigrations({ s: steps }, { s: landed.slice(0, 1) }).join()).toContain("add the new step");
  expect(findChangedMigrations({ s: steps.slice(0, 1) }, { s: landed }).join()).toMatch(
    /second .+ has gone$/,
  );
});
