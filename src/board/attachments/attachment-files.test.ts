import { link, mkdir, readdir, readFile, rm, stat, symlink, utimes, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { expect, test } from "vitest";
import { codeOf, openSqliteLab, openStage } from "../../../test/support/board-lab.ts";
import { listNames } from "../../lib/files/unless-missing.ts";
import { neverAborted } from "../../lib/time/never-aborted.ts";
import { type Attachment, LARGEST_ATTACHMENT } from "../task.ts";
import { boardFolders } from "../workspaces/board-folders.ts";
import { readAttachment } from "./attachment-content.ts";
import { type AttachmentFolders, attachFile, openAttachment, removeAttachment } from "./attachment-files.ts";
import { attachmentName } from "./attachment-name.ts";
import { collectAttachments } from "./collect-attachments.ts";

const HOUR = 3_600_000;

async function openLab() {
  const stage = await openStage(openSqliteLab);
  const { root } = stage.lab.location;
  let now = Date.now();
  const folders: AttachmentFolders = { ...boardFolders(root, "lab"), now: () => now };
  const client = stage.operator;
  return {
    ...stage,
    root,
    folders,
    advance: (ms: number) => {
      now += ms;
    },
    attach: (taskId: string, name: string, text = "text") =>
      attachFile({ client, folders }, taskId, { name, bytes: Buffer.from(text) }, neverAborted),
    read: (attachment: Attachment) =>
      readAttachment({ store: stage.store, folders }, attachment, neverAborted),
    remove: (id: number) => removeAttachment({ client, folders }, id, neverAborted),
    collect: () => collectAttachments({ store: stage.store, folders }, neverAborted),
    files: (taskId: string) => listNames(join(folders.attachments, taskId)),
  };
}

test("board A8: a file is stored next to the board under its own name and is read back unchanged", async () => {
  await using lab = await openLab();
  const task = await lab.add("a");
  const attachment = await lab.attach(task.id, "report.pdf", "content");
  const path = join(lab.folders.attachments, task.id, "report.pdf");
  expect(attachment).toMatchObject({
    filename: "report.pdf",
    stored_path: path,
    size: 7,
    uploaded_by: "alice",
  });
  expect((await lab.read(attachment)).toString()).toBe("content");
  expect((await stat(path)).mode & 0o777).toBe(0o600);
  expect(await lab.files(task.id)).toEqual(["report.pdf"]);
});

test("board A8: a duplicate name gets a number, even under concurrent uploads", async () => {
  await using lab = await openLab();
  const task = await lab.add("a");
  const texts = ["1", "2", "3", "4", "5"];
  const kept = await Promise.all(texts.map((text) => lab.attach(task.id, "a.tar.gz", text)));
  const names = ["a.tar.gz", "a.tar (1).gz", "a.tar (2).gz", "a.tar (3).gz", "a.tar (4).gz"];
  expect(kept.map(({ filename }) => filename).sort()).toEqual(names.sort());
  for (const [index, attachment] of kept.entries())
    expect((await lab.read(attachment)).toString()).toBe(texts[index]);
});

test("board A8: a hostile name is reduced to its safe part or refused", async () => {
  const names: readonly (readonly [string, string])[] = [
    ["../../etc/passwd", "passwd"],
    ["/etc/shadow", "shadow"],
    ["C:\\Users\\x\\evil.exe", "evil.exe"],
    ["...hidden", "hidden"],
    [" . .ssh", "ssh"],
    ["a\u0000b\nc\u202Egpj.exe", "abcgpj.exe"],
    [`${"x".repeat(300)}.txt`, `${"x".repeat(196)}.txt`],
    ["plain (1).md", "plain (1).md"],
    ["\uD800a", "a"],
  ];
  for (const [given, kept] of names) expect(attachmentName(given), given).toBe(kept);
  for (const given of ["", ".", "..", "a/", "\u0000", " ", "/"])
    expect(() => attachmentName(given), given).toThrow(/not a valid file name/);
  const wide = attachmentName(`${"😀".repeat(150)}.png`);
  expect(Buffer.byteLength(wide)).toBeLessThanOrEqual(240);
  expect(wide).toMatch(/^(😀)+\.png$/u);
});

test("a long duplicate name is shortened to fit its number", async () => {
  await using lab = await openLab();
  const task = await lab.add("a");
  const name = `${"ü".repeat(196)}.txt`;
  const [first, second] = [await lab.attach(task.id, name), await lab.attach(task.id, name)];
  expect(second.filename).toMatch(/ü \(1\)\.txt$/);
  expect(second.filename).not.toBe(first.filename);
});

test("board A8: 25 MiB are accepted; one byte more is refused and leaves no file", async () => {
  await using lab = await openLab();
  const task = await lab.add("a");
  const parts = { client: lab.operator, folders: lab.folders };
  const bytes = Buffer.alloc(LARGEST_ATTACHMENT + 1);
  expect(await codeOf(attachFile(parts, task.id, { name: "x", bytes }, neverAborted))).toBe(
    "attachment-too-large",
  );
  expect(await lab.files(task.id)).toEqual([]);
  const largest = { name: "x", bytes: bytes.subarray(1) };
  expect((await attachFile(parts, task.id, largest, neverAborted)).size).toBe(LARGEST_ATTACHMENT);
});

test("a refused attachment leaves no file", async () => {
  await using lab = await openLab();
  const task = await lab.add("a");
  expect(await codeOf(lab.attach("t_000000000000", "x"))).toBe("task-not-found");
  const client = lab.store.as({ kind: "delegate", profile: "p" });
  const file = { name: "x", bytes: Buffer.from("x") };
  expect(await codeOf(attachFile({ client, folders: lab.folders }, task.id, file, neverAborted))).toBe(
    "board-action-denied",
  );
  expect(await codeOf(lab.attach("../escape", "x"))).toBe("workspace-refused");
  expect(await lab.files(task.id)).toEqual([]);
  expect(await lab.files("t_000000000000")).toEqual([]);
});

test("board A8: a path that leads out of its folder through the row, a link or a folder is not opened", async () => {
  await using lab = await openLab();
  const task = await lab.add("a");
  const other = await lab.add("b");
  const attachment = await lab.attach(task.id, "a.txt");
  const foreign = await lab.attach(other.id, "b.txt", "foreign");
  const secret = join(lab.root, "secret");
  await writeFile(secret, "secret");
  const folder = join(lab.folders.attachments, task.id);
  const open = (stored_path: string) => codeOf(openAttachment(lab.folders, { ...attachment, stored_path }));
  const nonCanonical = `${lab.folders.attachments}/${other.id}/../${task.id}/a.txt`;
  const wrong = [secret, foreign.stored_path, nonCanonical, `${folder}/../../secret`, folder, "a.txt"];
  for (const path of wrong) expect(await open(path), path).toBe("attachment-missing");
  await rm(attachment.stored_path);
  expect(await open(attachment.stored_path)).toBe("attachment-missing");
  await symlink(secret, attachment.stored_path);
  expect(await open(attachment.stored_path)).toBe("attachment-missing");
  await rm(folder, { recursive: true });
  await symlink(join(lab.folders.attachments, other.id), folder);
  await link(foreign.stored_path, join(folder, "a.txt"));
  expect(await open(attachment.stored_path)).toBe("attachment-missing");
});

test("a removed attachment is moved to quarantine, not deleted", async () => {
  await using lab = await openLab();
  const task = await lab.add("a");
  const attachment = await lab.attach(task.id, "a.txt", "keep me");
  expect(await lab.remove(attachment.id)).toBe(true);
  expect(await lab.remove(attachment.id)).toBe(false);
  expect(await lab.files(task.id)).toEqual([]);
  const [moved = ""] = await readdir(lab.folders.quarantine);
  expect(await readFile(join(lab.folders.quarantine, moved), "utf8")).toBe("keep me");
});

test("a file left without a row by a crash is moved to quarantine later; a file with a row never is", async () => {
  await using lab = await openLab();
  const task = await lab.add("a");
  const kept = await lab.attach(task.id, "kept.txt");
  const folder = join(lab.folders.attachments, task.id);
  await writeFile(join(folder, "orphan.txt"), "x");
  await writeFile(join(folder, ".new-0123"), "x");
  await mkdir(join(lab.folders.attachments, "t_gone"));
  await writeFile(join(lab.folders.attachments, "t_gone", "purged.txt"), "x");
  await utimes(join(folder, "orphan.txt"), 0, 0); // the modification time does not count, only the time of the copy
  expect(await lab.collect()).toEqual([]);
  lab.advance(2 * HOUR);
  const collected = (await lab.collect()).map((path) => basename(path));
  expect(collected.sort()).toEqual([".new-0123", "orphan.txt", "purged.txt"]);
  expect(await lab.files(task.id)).toEqual([basename(kept.stored_path)]);
  expect(await listNames(lab.folders.quarantine)).toHaveLength(3);
});
