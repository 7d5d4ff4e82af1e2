import { readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { errnoOf, messageOf } from "../../lib/errors.ts";
import type { ImagePart } from "../../providers/message.ts";

/** How a file begins, read as Latin-1. Names lie: a provider looks at the content, and refuses the whole conversation. */
const BEGINNINGS: readonly (readonly [mediaType: string, beginning: string, after8?: string])[] = [
  ["image/png", "\x89PNG\r\n\x1a\n"],
  ["image/jpeg", "\xff\xd8\xff"],
  ["image/gif", "GIF87a"],
  ["image/gif", "GIF89a"],
  ["image/webp", "RIFF", "WEBP"], // with its length in between
];
const BEGINNING_LENGTH = 12;
const MOST_IMAGES = 8;
const MEGABYTE = 1024 * 1024;
const LARGEST_IMAGE = 5 * MEGABYTE; // what providers take
const CODE = /```[\s\S]*?(?:```|$)|~~~[\s\S]*?(?:~~~|$)|`[^`\n]*`/g;
const PATH = /(?<![\w/~.:])(?:~\/|\/)[^\s"'<>()[\]]+?\.(?:png|jpe?g|gif|webp)(?![\w/])/gi;

/** The paths of pictures that a text names: absolute or below the home, and not inside of code. */
export function findImagePaths(text: string): readonly string[] {
  const prose = text.replace(CODE, " ");
  return [...new Set(prose.match(PATH) ?? [])].slice(0, MOST_IMAGES);
}

/** The pictures that a text names, as the model sees them; what is not there, or is no file, is left to the words. */
export async function loadImages(text: string, home: string): Promise<readonly ImagePart[]> {
  const images = await Promise.all(
    findImagePaths(text).map((path) => readImage(path.startsWith("~/") ? join(home, path.slice(2)) : path)),
  );
  return images.flatMap((image) => ("problem" in image ? [] : [image]));
}

/** A picture as models take them, or why a file is none. */
export async function readImage(file: string): Promise<ImagePart | { readonly problem: string }> {
  try {
    const found = await stat(file);
    const { size } = found;
    if (!found.isFile()) return { problem: "it is not a file" };
    if (size === 0) return { problem: "it is empty" };
    if (size > LARGEST_IMAGE)
      return { problem: `it is ${Math.ceil((size / MEGABYTE) * 10) / 10} MB large, and 5 MB are the limit` };
    const bytes = await readFile(file);
    const beginning = bytes.toString("latin1", 0, BEGINNING_LENGTH);
    const [mediaType] =
      BEGINNINGS.find(
        ([, start, after8 = ""]) => beginning.startsWith(start) && beginning.endsWith(after8),
      ) ?? [];
    if (mediaType === undefined) return { problem: "its content is none of PNG, JPEG, GIF and WebP" };
    return { type: "image", mediaType, data: bytes.toString("base64") };
  } catch (error) {
    return { problem: errnoOf(error) === "ENOENT" ? "there is no such file" : messageOf(error) };
  }
}
