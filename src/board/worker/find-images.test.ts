import { writeFile } from "node:fs/promises";
import { expect, test } from "vitest";
import { tempFolder } from "../../../test/support/temp-folder.ts";
import { findImagePaths, loadImages } from "./find-images.ts";

test.each([
  ["See /shots/a.png, and ~/b.JPEG.", ["/shots/a.png", "~/b.JPEG"]],
  ["(/shots/a.png) then '/x/y z.webp'", ["/shots/a.png"]],
  ["twice /a.png /a.png", ["/a.png"]],
  ["`/code/a.png` and\n```\n/block/b.png\n```\nafter /c.gif", ["/c.gif"]],
  ["an open block\n```\n/block/b.png", []],
  ["relative shots/a.png, https://example.com/a.png, ./a.png, /a.pngx, /a.png/b", []],
])("board C3: in %j the pictures are %j", (text, paths) => {
  expect(findImagePaths(text)).toEqual(paths);
});

test("board C3: pictures become parts; what is missing or too large is left out", async () => {
  await using folder = await tempFolder();
  await writeFile(folder.file("a.png"), "picture");
  await writeFile(folder.file("huge.png"), Buffer.alloc(5 * 1024 * 1024 + 1));
  const text = `~/a.png ${folder.file("a.png")} ${folder.file("huge.png")} ${folder.file("gone.png")}`;
  const part = { type: "image", mediaType: "image/png", data: Buffer.from("picture").toString("base64") };
  expect(await loadImages(text, folder.path)).toEqual([part, part]);
});
