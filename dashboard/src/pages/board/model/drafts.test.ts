import { expect, test } from "vitest";
import { createDrafts, forgetOldDrafts } from "./drafts.ts";

/** Like the storage of a browser; `full` refuses every write, as in a private window. */
function openStorage(full = false): Storage {
  const values = new Map<string, string>();
  return {
    get length() {
      return values.size;
    },
    key: (index) => [...values.keys()][index] ?? null,
    getItem: (key) => values.get(key) ?? null,
    setItem(key, value) {
      if (full) throw new Error("QuotaExceededError");
      values.set(key, value);
    },
    removeItem: (key) => void values.delete(key),
    clear: () => values.clear(),
  };
}

test("a draft survives the page, and each task has its own", () => {
  const storage = openStorage();
  createDrafts(storage, "default/t_1").set("body", "half a sentence");
  expect(createDrafts(storage, "default/t_1").get("body")).toBe("half a sentence");
  expect(createDrafts(storage, "default/t_2").get("body")).toBeUndefined();
  createDrafts(storage, "default/t_1").set("body", undefined);
  expect(createDrafts(storage, "default/t_1").get("body")).toBeUndefined();
});

test("if the browser stores nothing, a draft lasts as long as the page", () => {
  for (const storage of [openStorage(true), undefined]) {
    const drafts = createDrafts(storage, "default/t_1");
    drafts.set("title", "new");
    expect(drafts.get("title")).toBe("new");
  }
});

test("only abandoned drafts are removed", () => {
  const storage = openStorage();
  createDrafts(storage, "a", () => 0).set("body", "old");
  createDrafts(storage, "b", () => 6 * 86_400_000).set("body", "newer");
  storage.setItem("theme", "dark");
  forgetOldDrafts(storage, 8 * 86_400_000);
  expect(createDrafts(storage, "a").get("body")).toBeUndefined();
  expect(createDrafts(storage, "b").get("body")).toBe("newer");
  expect(storage.getItem("theme")).toBe("dark");
});
