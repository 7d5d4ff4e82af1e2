import { expect, test } from "vitest";
import { findChangedMigrations } from "./frozen-migrations.ts";

const steps = [
  { name: "first", text: "create table a (x)" },
  { name: "second", text: "alter table a add column y" },
];
const released = findChangedMigrations({ s: steps }, {}).map((line) => /"(.+)"/.exec(line)?.[1] ?? "");

test("unchanged steps give no finding", () => {
  expect(findChangedMigrations({ s: steps }, { s: released })).toEqual([]);
});

test("a changed, new or removed step is reported with what to do", () => {
  const edited = [{ name: "first", text: "create table a (x, z)" }, ...steps.slice(1)];
  expect(findChangedMigrations({ s: edited }, { s: released }).join()).toMatch(
    /^s: step 1 is "first .+" but was released as "first .+"\..+ add a new step\.$/,
  );
  expect(findChangedMigrations({ s: steps }, { s: released.slice(0, 1) }).join()).toContain(
    "add the new step",
  );
  expect(findChangedMigrations({ s: steps.slice(0, 1) }, { s: released }).join()).toMatch(
    /second .+ was removed$/,
  );
});
