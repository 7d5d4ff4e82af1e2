import { appendFileSync } from "node:fs";
import { expect, test } from "vitest";
import { tempFolder } from "../../../../test/support/temp-folder.ts";
import { readRunLog } from "./read-run-log.ts";
import { openRunLog } from "./run-log.ts";

test("a log is read backwards in contiguous pieces of whole characters, across its rotated parts", async () => {
  await using folder = await tempFolder();
  const path = folder.file("1.log");
  const lines: string[] = [];
  using log = openRunLog(path, { maxBytes: 4_096, backups: 3 });
  for (let number = 0; number < 400; number++) {
    lines.push(`${number} grüße 天気 😀\n`);
    log.write(Buffer.from(lines.at(-1) ?? ""));
  }
  const whole = lines.join("");
  const pieces: string[] = [];
  let before: number | undefined;
  do {
    const piece = readRunLog(path, { before, bytes: 777 });
    pieces.unshift(piece.text);
    expect(piece.size).toBe(Buffer.byteLength(whole));
    before = piece.from;
  } while (before > 0);
  expect(pieces.join("")).toBe(whole);
});

test("an incomplete character is left for the next piece", async () => {
  await using folder = await tempFolder();
  const path = folder.file("1.log");
  const smile = Buffer.from("😀");
  appendFileSync(path, Buffer.concat([Buffer.from("ok "), smile.subarray(0, 2)]));
  const first = readRunLog(path, { bytes: 100 });
  expect([first.text, first.from, first.to]).toEqual(["ok ", 0, 3]);
  appendFileSync(path, smile.subarray(2));
  const second = readRunLog(path, { after: first.to, bytes: 100 });
  expect([second.text, second.from, second.part]).toEqual(["😀", 3, first.part]);
});

test("deleting the oldest part changes the part that the log reports; a missing log is empty", async () => {
  await using folder = await tempFolder();
  const path = folder.file("1.log");
  using log = openRunLog(path, { maxBytes: 4_096, backups: 1 });
  log.write(Buffer.alloc(4_000, "a"));
  const first = readRunLog(path, { bytes: 10 });
  log.write(Buffer.alloc(9_000, "b"));
  expect(readRunLog(path, { bytes: 10 }).part).not.toBe(first.part);
  expect(readRunLog(folder.file("2.log"), { bytes: 10 })).toMatchObject({
    text: "",
    from: 0,
    to: 0,
    size: 0,
  });
});
