import { expect, test } from "vitest";
import type { Setting } from "../../../../../src/api/contract/setup/settings.ts";
import { afterSave, edit, isConflict, parseDrafts, rebase, textsOf } from "./drafts.ts";

const setting = (more: Partial<Setting> = {}): Setting => ({
  ...{ key: "terminal.timeout", type: "integer", isTextList: false, isNullable: false, values: null },
  ...{
    description: "",
    expected: "a whole number",
    value: "60",
    default: "180",
    stored: "60",
    problem: null,
  },
  ...{ origin: "file", place: "config.yaml:2", fixedBy: null, isSecret: false, isSet: false },
  ...{ variable: "TERMINAL_TIMEOUT", isMasked: false, unusedUnless: null },
  ...more,
});

test("an edit back to the text of the file is no change", () => {
  const drafts = edit({}, setting(), "300");
  expect(drafts).toEqual({ "terminal.timeout": { text: "300", base: "60" } });
  expect(edit(drafts, setting(), "60")).toEqual({});
  expect(edit({}, setting({ stored: null, value: "180" }), null)).toEqual({});
});

test("a change elsewhere conflicts with a different draft, until one version is chosen", () => {
  const drafts = edit({}, setting(), "300");
  const draft = drafts["terminal.timeout"];
  expect(isConflict(draft, setting())).toBe(false);
  expect(isConflict(draft, setting({ stored: "90" }))).toBe(true);
  expect(isConflict(draft, setting({ stored: "300" }))).toBe(false);
  const kept = rebase(drafts, setting({ stored: "90" }));
  expect(isConflict(kept["terminal.timeout"], setting({ stored: "90" }))).toBe(false);
  expect(kept["terminal.timeout"]?.text).toBe("300");
});

test("what is typed while a save runs stays a draft", () => {
  const drafts = {
    "terminal.timeout": { text: "301", base: "60" },
    "logging.level": { text: "debug", base: null },
    "terminal.cwd": { text: "/tmp", base: null },
  };
  const saved = new Map([["terminal.timeout", setting({ stored: "300" })]]);
  const sent = { ...drafts, "terminal.timeout": { text: "300", base: "60" } };
  const { "terminal.cwd": _, ...both } = sent;
  expect(afterSave(drafts, both, saved)).toEqual({
    "terminal.timeout": { text: "301", base: "300" },
    "terminal.cwd": { text: "/tmp", base: null },
  });
});

test("stored drafts of settings that cannot be edited any more are dropped, and damaged ones are ignored", () => {
  const stored = JSON.stringify({
    "terminal.timeout": { text: "300", base: "60" },
    gone: { text: "", base: null },
  });
  expect(Object.keys(parseDrafts(stored, new Map([["terminal.timeout", setting()]])))).toEqual([
    "terminal.timeout",
  ]);
  const fixed = setting({ fixedBy: "TERMINAL_TIMEOUT" });
  expect(parseDrafts(stored, new Map([["terminal.timeout", fixed]]))).toEqual({});
  expect(parseDrafts("{", new Map())).toEqual({});
});

test("empty lines of a list are not sent", () => {
  const list = setting({ key: "approvals.allow", isTextList: true });
  const drafts = { "approvals.allow": { text: '["a",""," ","b"]', base: null } };
  expect(textsOf(drafts, new Map([[list.key, list]]))).toEqual({ "approvals.allow": '["a","b"]' });
});
