import { writeFile } from "node:fs/promises";
import { expect, test } from "vitest";
import { tempFolder } from "../../../../test/support/temp-folder.ts";
import { createAttachedImages, findImagePath } from "./attached-images.ts";
import { readClipboard } from "./read-clipboard.ts";

/** The start of a PNG of one pixel. */
const PNG = Buffer.from(
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
  "base64",
);

test.each([
  ["/tmp/a shot.png", "/tmp/a shot.png"],
  ["'/tmp/a shot.png' ", "/tmp/a shot.png"],
  ["/tmp/a\\ shot.PNG", "/tmp/a shot.PNG"],
  ["file:///tmp/a%20shot.webp", "/tmp/a shot.webp"],
  ["see /tmp/a.txt", undefined],
  ["one.png\ntwo.png", undefined],
])("C26: a dropped file %j is read as %j", (text, path) => {
  expect(findImagePath(text)).toBe(path);
});

test.each(["'shot 1.png'", '"shot 1.png"', "shot\\ 1.png", "shot 1.png"])(
  "C26: /image takes the path %s",
  async (path) => {
    await using folder = await tempFolder();
    await writeFile(folder.file("shot 1.png"), PNG);
    expect(await createAttachedImages().require(path, folder.path)).toMatch(/^\[image 1: shot 1\.png /);
  },
);

test("C26: an image is a mark in the draft, and is sent with messages that contain the mark", async () => {
  await using folder = await tempFolder();
  await writeFile(folder.file("shot[1].png"), PNG);
  await writeFile(folder.file("fake.png"), "no image");
  const images = createAttachedImages();
  const mark = await images.add("shot[1].png", folder.path);
  expect(mark).toMatch(/^\[image 1: shot1\.png \d+ B\]$/);
  expect(await images.add("fake.png", folder.path)).toBeUndefined();
  await expect(images.require("fake.png", folder.path)).rejects.toThrow(/cannot be sent as an image/);
  expect(images.of(`look at ${mark} and again ${mark}`)).toEqual([
    { type: "image", mediaType: "image/png", data: PNG.toString("base64") },
  ]);
  expect(images.of("[image 7: gone.png 1 kB] nothing")).toEqual([]);
});

test("C26: the images of a stored message are attached to its marks again, and a mark of another chat has no image", () => {
  const images = createAttachedImages();
  const own = images.addBytes(PNG, "own.png");
  const image = { type: "image", mediaType: "image/png", data: "AAAA" } as const;
  images.restore({
    role: "user",
    parts: [{ type: "text", text: "see [image 1: old.png 3 B]" }, image],
  });
  expect(images.of("again [image 1: old.png 3 B]")).toEqual([image]);
  expect(images.of(`and ${own}`)).toHaveLength(1);
  expect(images.of("[image 1: other.png 1 kB]")).toEqual([]);
});

test("C26: over SSH one line says why the clipboard cannot be read", async () => {
  expect(await readClipboard({ SSH_TTY: "/dev/pts/1", DISPLAY: ":0" })).toEqual({
    problem: expect.stringContaining("other side of SSH"),
  });
});
