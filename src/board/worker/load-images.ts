import { join } from "node:path";
import { type ParsedImage, readImage } from "../../providers/image.ts";
import type { ImagePart } from "../../providers/message.ts";

const MAX_IMAGES = 8;
const CODE = /```[\s\S]*?(?:```|$)|~~~[\s\S]*?(?:~~~|$)|`[^`\n]*`/g;
/** An http address, with or without a query, or a path that is absolute or below the home. */
const SOURCE =
  /(?:\bhttps?:\/\/|(?<![\w/~.:])(?:~\/|\/))[^\s"'<>()[\]]+?\.(?:png|jpe?g|gif|webp)(?![\w/])(?:\?[^\s"'<>()[\]]*[\w%&=/-])?/gi;
const ADDRESS = /^https?:/i;

/** The images that a text names by path or address, outside of code. */
export function parseImageSources(text: string): readonly string[] {
  const prose = text.replace(CODE, " ");
  return [...new Set(prose.match(SOURCE) ?? [])].slice(0, MAX_IMAGES);
}

/** Loads the images that a text names. A file that is not a readable image is skipped and stays in the text only. */
export async function loadImages(
  text: string,
  home: string,
  fetchImage: (address: string) => Promise<ParsedImage>,
): Promise<readonly ImagePart[]> {
  const images = parseImageSources(text).map((source) => {
    if (ADDRESS.test(source)) return fetchImage(source);
    return readImage(source.startsWith("~/") ? join(home, source.slice(2)) : source);
  });
  return (await Promise.all(images)).flatMap((image) => ("problem" in image ? [] : [image]));
}
