import { link, mkdir, readdir, readFile, rm, stat, symlink, utimes, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { expect, test } from "vitest";
import { codeOf, openSqliteLab, openStage } from "../../../test/support/board-lab.ts";
import { type Attachment, LARGEST_ATTACHMENT } from "../task.ts";
import { boardFolders } from "../workspaces/board-folders.ts";
import { namesIn } from "../workspaces/quarantine.ts";
import { readAttachment } from "./attachment-content.ts";
import { type AttachmentPlace, attachFile, openAttachment, removeAttachment } from "./attachment-files.ts";
import { attachmentName } from "./attachment-name.ts";
import { collectAttachments } from "./collect-attachments.ts";

const never = new AbortController().signal;
const HOUR = 3_600_000;

async function openLab() {
  const stage = await openStage(openSqliteLab);
  const { root } = stage.lab.place;
  let now = Date.now();
  const place: AttachmentPlace = { ...boardFolders(root, "lab"), now: () => now };
  const client = stage.operator;
  return {
    ...stage,
    root,
    place,
    later: (ms: number) => {
      now += ms;
    },
    attach: (taskId: string, name: string, text = "text") =>
      attachFile({ client, place }, taskId, { name, bytes: Buffer.from(text) }, never),
    read: (attachment: Attachment) => readAttachment({ store: stage.store, place }, attachment, never),
    remove: (id: number) => removeAttachment({ client, place }, id, never),
    collect: () => collectAttachments({ store: stage.store, place }, never),
    files: (taskId: string) => namesIn(join(place.attachments, taskId)),
  };
}

test("board A8: a file is kept beside the board under its own name, and comes back as it was", async () => {
  await using lab = await openLab();
  const task = await lab.add("a");
  const attachment = await lab.attach(task.id, "report.pdf", "content");
  const path = join(lab.place.attachments, task.id, "report.pdf");
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

test("board A8: a name that is taken gets a number, however many come at once", async () => {
  await using lab = await openLab();
  const task = await lab.add("a");
  const texts = ["1", "2", "3", "4", "5"];
  const kept = await Promise.all(texts.map((text) => lab.attach(task.id, "a.tar.gz", text)));
  const names = ["a.tar.gz", "a.tar (1).gz", "a.tar (2).gz", "a.tar (3).gz", "a.tar (4).gz"];
  expect(kept.map(({ filename }) => filename).sort()).toEqual(names.sort());
  for (const [index, attachment] of kept.entries())
    expect((await lab.read(attachment)).toString()).toBe(texts[index]);
});

test("board A8: of a hostile name the harmless part is left, or it is refused", async () => {
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
    expect(() => attachmentName(given), given).toThrow(/no name/);
  const wide = attachmentName(`${"😀".repeat(150)}.png`);
  expect(Buffer.byteLength(wide)).toBeLessThanOrEqual(240);
  expect(wide).toMatch(/^(😀)+\.png$/u);
});

test("a long name that is taken still fits with its number", async () => {
  await using lab = await openLab();
  const task = await lab.add("a");
  const name = `${"ü".repeat(196)}.txt`;
  const [first, second] = [await lab.attach(task.id, name), await lab.attach(task.id, name)];
  expect(second.filename).toMatch(/ü \(1\)\.txt$/);
  expect(second.filename).not.toBe(first.filename);
});

test("board A8: 25 MiB are kept, one byte more is refused and leaves nothing", async () => {
  await using lab = await openLab();
  const task = await lab.add("a");
  const parts = { client: lab.operator, place: lab.place };
  const bytes = Buffer.alloc(LARGEST_ATTACHMENT + 1);
  expect(await codeOf(attachFile(parts, task.id, { name: "x", bytes }, never))).toBe("attachment-too-large");
  expect(await lab.files(task.id)).toEqual([]);
  const largest = { name: "x", bytes: bytes.subarray(1) };
  expect((await attachFile(parts, task.id, largest, never)).size).toBe(LARGEST_ATTACHMENT);
});

test("a refused attachment leaves no file", async () => {
  await using lab = await openLab();
  const task = await lab.add("a");
  expect(await codeOf(lab.attach("t_000000000000", "x"))).toBe("task-not-found");
  const client = lab.store.as({ kind: "delegate", profile: "p" });
  const file = { name: "x", bytes: Buffer.from("x") };
  expect(await codeOf(attachFile({ client, place: lab.place }, task.id, file, never))).toBe(
    "board-action-denied",
  );
  expect(await codeOf(lab.attach("../escape", "x"))).toBe("workspace-refused");
  expect(await lab.files(task.id)).toEqual([]);
  expect(await lab.files("t_000000000000")).toEqual([]);
});

test("board A8: what leads out of its folder is not opened, whether the row, a link or a folder does", async () => {
  await using lab = await openLab();
  const task = await lab.add("a");
  const other = await lab.add("b");
  const attachment = await lab.attach(task.id, "a.txt");
  const foreign = await lab.attach(other.id, "b.txt", "foreign");
  const secret = join(lab.root, "secret");
  await writeFile(secret, "secret");
  const folder = join(lab.place.attachments, task.id);
  const open = (stored_path: string) => codeOf(openAttachment(lab.place, { ...attachment, stored_path }));
  const roundabout = `${lab.place.attachments}/${other.id}/../${task.id}/a.txt`;
  const wrong = [secret, foreign.stored_path, roundabout, `${folder}/../../secret`, folder, "a.txt"];
  for (const path of wrong) expect(await open(path), path).toBe("attachment-missing");
  await rm(attachment.stored_path);
  expect(await open(attachment.stored_path)).toBe("attachment-missing");
  await symlink(secret, attachment.stored_path);
  expect(await open(attachment.stored_path)).toBe("attachment-missing");
  await rm(folder, { recursive: true });
  await symlink(join(lab.place.attachments, other.id), folder);
  await link(foreign.stored_path, join(folder, "a.txt"));
  expect(await open(attachment.stored_path)).toBe("attachment-missing");
});

test("a removed attachment is moved aside, not deleted", async () => {
  await using lab = await openLab();
  const task = await lab.add("a");
  const attachment = await lab.attach(task.id, "a.txt", "keep me");
  expect(await lab.remove(attachment.id)).toBe(true);
  expect(await lab.remove(attachment.id)).toBe(false);
  expect(await lab.files(task.id)).toEqual([]);
  const [moved = ""] = await readdir(lab.place.quarantine);
  expect(await readFile(join(lab.place.quarantine, moved), "utf8")).toBe("keep me");
});

test("a file that a crash left without its row is moved aside later, one with a row never", async () => {
  await using lab = await openLab();
  const task = await lab.add("a");
  const kept = await lab.attach(task.id, "kept.txt");
  const folder = join(lab.place.attachments, task.id);
  await writeFile(join(folder, "orphan.txt"), "x");
  await writeFile(join(folder, ".new-0123"), "x");
  await mkdir(join(lab.place.attachments, "t_gone"));
  await writeFile(join(lab.place.attachments, "t_gone", "purged.txt"), "x");
  await utimes(join(folder, "orphan.txt"), 0, 0); // an old file that was copied just now is young all the same
  expect(await lab.collect()).toEqual([]);
  lab.later(2 * HOUR);
  const collected = (await lab.collect()).map((path) => basename(path));
  expect(collected.sort()).toEqual([".new-0123", "orphan.txt", "purged.txt"]);
  expect(await lab.files(task.id)).toEqual([basename(kept.stored_path)]);
  expect(await namesIn(lab.place.quarantine)).toHaveLength(3);
});
