import { basename, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { AppError } from "../../../lib/errors.ts";
import { IMAGE_HINT, parseImage, readImage } from "../../../providers/image.ts";
import type { ImagePart } from "../../../providers/message.ts";
import { formatBytes } from "../../terminal/format-bytes.ts";
import { quoteLine } from "../../terminal/quote-text.ts";

/** The images of drafts. A draft has a mark for each, such as `[image 1: shot.png 214 kB]`. */
export interface AttachedImages {
  /** Reads an image and returns its mark; undefined if the file is not an image that can be sent. */
  add(path: string, folder: string): Promise<string | undefined>;
  /** Like `add`, but an image that cannot be sent is an error. */
  require(path: string, folder: string): Promise<string>;
  /** The mark of an image that is not a file. */
  addBytes(bytes: Uint8Array, name: string): string;
  /** The images whose marks a message has. */
  of(text: string): readonly ImagePart[];
}

const BYTES_PER_CHAR = 0.75; // of base64
const MARK = /\[image (\d+): [^\]]*\]/g;

export function createAttachedImages(): AttachedImages {
  const images: ImagePart[] = [];
  const keep = (image: ImagePart, name: string): string => {
    images.push(image);
    const size = formatBytes(Math.round(image.data.length * BYTES_PER_CHAR));
    return `[image ${images.length}: ${quoteLine(name).replace(/[[\]]/g, "")} ${size}]`;
  };
  const refuse = (name: string, problem: string): AppError =>
    new AppError("file-unreadable", `${name} cannot be sent as an image: ${problem}.`, { hint: IMAGE_HINT });
  return {
    async add(path, folder) {
      const image = await readImage(resolve(folder, path));
      return "problem" in image ? undefined : keep(image, basename(path));
    },
    async require(path, folder) {
      const image = await readImage(resolve(folder, path));
      if ("problem" in image) throw refuse(path, image.problem);
      return keep(image, basename(path));
    },
    addBytes(bytes, name) {
      const image = parseImage(bytes);
      if ("problem" in image) throw refuse("The image of the clipboard", image.problem);
      return keep(image, name);
    },
    of(text) {
      const numbers = new Set([...text.matchAll(MARK)].map(([, number]) => Number(number)));
      return [...numbers].flatMap((number) => images[number - 1] ?? []);
    },
  };
}

/** The path of an image, if a pasted text is nothing else: quoted, escaped or as an address, as terminals paste dropped files. */
export function findImagePath(text: string): string | undefined {
  const trimmed = text.trim();
  if (trimmed.includes("\n") || !/\.(?:png|jpe?g|gif|webp)['"]?$/i.test(trimmed)) return undefined;
  if (trimmed.startsWith("file://")) return URL.canParse(trimmed) ? fileURLToPath(trimmed) : undefined;
  const quoted = /^(['"])(.*)\1$/.exec(trimmed)?.[2];
  return quoted ?? trimmed.replace(/\\(.)/g, "$1");
}
