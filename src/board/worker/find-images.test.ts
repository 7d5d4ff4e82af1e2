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

test("board C3: pictures become parts, of the type that their content is of; what is none or too large is left out", async () => {
  await using folder = await tempFolder();
  const picture = Buffer.from("RIFF0000WEBPVP8 ");
  await writeFile(folder.file("a.png"), picture);
  await writeFile(folder.file("text.png"), "picture");
  await writeFile(folder.file("huge.png"), Buffer.concat([picture, Buffer.alloc(5 * 1024 * 1024)]));
  const names = ["a.png", "text.png", "huge.png", "gone.png"];
  const text = `~/a.png ${names.map((name) => folder.file(name)).join(" ")}`;
  const part = { type: "image", mediaType: "image/webp", data: picture.toString("base64") };
  expect(await loadImages(text, folder.path)).toEqual([part, part]);
});
