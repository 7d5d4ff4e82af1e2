import { readFile, stat } from "node:fs/promises";
import { extname, join } from "node:path";
import type { ImagePart } from "../../providers/message.ts";

const MEDIA_TYPES: Readonly<Record<string, string>> = {
  ".png": "image/png",
  ".jpg": "image/jpeg",
  ".jpeg": "image/jpeg",
  ".gif": "image/gif",
  ".webp": "image/webp",
};
const MOST_IMAGES = 8;
const LARGEST_IMAGE = 5 * 1024 * 1024; // what providers take
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
  return images.filter((image) => image !== undefined);
}

/** A picture as models take them; undefined for what is none, cannot be read or is larger than 5 MB. */
export async function readImage(file: string): Promise<ImagePart | undefined> {
  const mediaType = MEDIA_TYPES[extname(file).toLowerCase()];
  const found = await stat(file).catch(() => undefined);
  if (mediaType === undefined || !found?.isFile() || found.size > LARGEST_IMAGE) return undefined;
  const bytes = await readFile(file).catch(() => undefined);
  return bytes && { type: "image", mediaType, data: bytes.toString("base64") };
}
