import { randomUUID } from "node:crypto";
import { rm, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { tempFolder } from "../../../test/support/temp-folder.ts";
import { loadImages, parseImageSources } from "./load-images.ts";

test.each([
  ["See /shots/a.png, and ~/b.JPEG.", ["/shots/a.png", "~/b.JPEG"]],
  ["(/shots/a.png) then '/x/y z.webp'", ["/shots/a.png"]],
  ["twice /a.png /a.png", ["/a.png"]],
  ["`/code/a.png` and\n```\n/block/b.png\n```\nafter /c.gif", ["/c.gif"]],
  ["an open block\n```\n/block/b.png", []],
  ["relative shots/a.png, ./a.png, /a.pngx, /a.png/b, ftp://example.com/a.png", []],
  [
    "![shot](https://example.com/a.png), http://x:1/b/c.JPG?w=1&h=2. https://x/page, `https://x/d.png`",
    ["https://example.com/a.png", "http://x:1/b/c.JPG?w=1&h=2"],
  ],
])("board C3: the image paths and addresses in %j are %j", (text, sources) => {
  expect(parseImageSources(text)).toEqual(sources);
});

test("board C3: images become parts with the type of their content; other files and images that are too large are skipped", async () => {
  await using folder = await tempFolder();
  const picture = Buffer.from("RIFF0000WEBPVP8 ");
  await writeFile(folder.file("a.png"), picture);
  await writeFile(folder.file("text.png"), "picture");
  await writeFile(folder.file("huge.png"), Buffer.concat([picture, Buffer.alloc(5 * 1024 * 1024)]));
  const link = `/tmp/hermes-test-${randomUUID()}`; // a path in a text has no spaces, but the temporary folder may
  await symlink(folder.path, link);
  await using _link = { [Symbol.asyncDispose]: () => rm(link) };
  const names = ["a.png", "text.png", "huge.png", "gone.png"];
  const text = `~/a.png ${names.map((name) => join(link, name)).join(" ")}`;
  const part = { type: "image", mediaType: "image/webp", data: picture.toString("base64") } as const;
  const fetched = { ...part, mediaType: "image/gif" } as const;
  const fetchImage = async (address: string) =>
    address === "https://x/b.gif" ? fetched : { problem: "it answers with status 404" };
  const images = await loadImages(`${text} https://x/gone.gif https://x/b.gif`, folder.path, fetchImage);
  expect(images).toEqual([part, part, fetched]);
});
