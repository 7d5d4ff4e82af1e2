import { readdir, readFile, rm, truncate, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { type KanbanLine, openKanbanLine } from "../../../../test/support/kanban-line.ts";
import type { Task } from "../../../board/task.ts";

test("attachments that were changed, cut short or lost on disk are named by export, import and repair, and the rest is brought in", async () => {
  await using line = await openKanbanLine();
  const { id } = await line.json<Task>(["create", "with files"]);
  const file = join(line.folder, "content");
  await writeFile(file, "as it was");
  const names = ["whole.txt", "changed.txt", "cut.txt", "grown.txt", "lost.txt"];
  for (const name of names) await line.ok(["attach", id, file, "--name", name]);
  expect(await line.json(["repair"])).toMatchObject({ ok: true });
  const folder = join(line.home, "kanban", "attachments", id);
  await writeFile(join(folder, "changed.txt"), "as it is.");
  await truncate(join(folder, "cut.txt"), 2);
  await writeFile(join(folder, "grown.txt"), "as it was not");
  await rm(join(folder, "lost.txt"));

  const damages = [
    /changed\.txt .* was changed/,
    /cut\.txt .* 2 of its 9 bytes/,
    /grown\.txt .* more than its 9/,
    /lost\.txt .* not there/,
  ];
  const repaired = await line.run(["repair", "--json"]);
  expect(repaired.exitCode).toBe(1);
  expect(JSON.parse(repaired.stdout)).toMatchObject({
    ok: false,
    left: damages.map((text) => expect.stringMatching(text)),
  });
  const copy = join(line.folder, "board.jsonl");
  const exported = await line.run(["export", "-o", copy]);
  expect(exported.failure).toBeUndefined();
  for (const text of damages) expect(exported.stderr).toMatch(text);
  expect(exported.stderr).not.toContain("whole.txt");

  const imported = await line.run(["import", copy, "--as", "copy"]);
  expect(imported.failure).toBeUndefined();
  for (const text of damages) expect(imported.stderr).toMatch(text);
  const there = join(line.home, "kanban", "boards", "copy", "attachments", id);
  expect(await readdir(there)).toEqual(["whole.txt"]);
  expect(await readFile(join(there, "whole.txt"), "utf8")).toBe("as it was");
  expect(await line.json<object[]>(["--board", "copy", "attachments", id])).toHaveLength(5);
  const context = await line.ok(["context", id]);
  expect(context).toMatch(/changed\.txt.*was changed/);
});

test("an export of a version without hashes is imported with its files", async () => {
  await using line = await openKanbanLine();
  const { file, text } = await exportOneFile(line);
  expect(text).toContain('"sha256":');
  await writeFile(file, text.replace(/"sha256":"\w+",/, ""));
  await line.ok(["import", file, "--as", "copy"]);
  expect(await line.json(["--board", "copy", "repair"])).toMatchObject({ ok: true });
});

test("a file that was changed inside of an export is refused", async () => {
  await using line = await openKanbanLine();
  const { text } = await exportOneFile(line);
  const other = text.replace(
    Buffer.from("as it was").toString("base64"),
    Buffer.from("as it is.").toString("base64"),
  );
  const copy = join(line.folder, "board.jsonl");
  await writeFile(copy, other);
  const { failure } = await line.run(["import", copy, "--as", "copy"]);
  expect(failure).toMatchObject({
    code: "board-import-invalid",
    message: expect.stringContaining("was changed"),
  });
});

/** A board with one attachment, and its export. */
async function exportOneFile(line: KanbanLine): Promise<{ readonly file: string; readonly text: string }> {
  const { id } = await line.json<Task>(["create", "with a file"]);
  const file = join(line.folder, "content");
  await writeFile(file, "as it was");
  await line.ok(["attach", id, file]);
  return { file, text: await line.ok(["export"]) };
}
