import { homedir } from "node:os";
import { basename, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { AppError } from "../../../lib/errors.ts";
import { IMAGE_HINT, parseImage, readImage } from "../../../providers/image.ts";
import { firstTextOf, type ImagePart, type UserMessage } from "../../../providers/message.ts";
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
  /** Attaches the images of a stored message again, so that the marks in its text refer to them. */
  restore(message: UserMessage): void;
  /** The images whose marks the text contains. */
  of(text: string): readonly ImagePart[];
}

const BYTES_PER_CHAR = 0.75; // of base64
const MARK = /\[image \d+: [^\]]*\]/g;

export function createAttachedImages(): AttachedImages {
  const images = new Map<string, ImagePart>();
  let count = 0;
  const addImage = (image: ImagePart, name: string): string => {
    const size = formatBytes(Math.round(image.data.length * BYTES_PER_CHAR));
    const mark = `[image ${++count}: ${quoteLine(name).replace(/[[\]]/g, "")} ${size}]`;
    images.set(mark, image);
    return mark;
  };
  const refuse = (name: string, problem: string): AppError =>
    new AppError("file-unreadable", `${name} cannot be sent as an image: ${problem}.`, { hint: IMAGE_HINT });
  return {
    async add(path, folder) {
      const image = await readImage(resolve(folder, path));
      return "problem" in image ? undefined : addImage(image, basename(path));
    },
    async require(text, folder) {
      const path = unquotePath(text);
      const image = await readImage(resolve(folder, path));
      if ("problem" in image) throw refuse(path, image.problem);
      return addImage(image, basename(path));
    },
    addBytes(bytes, name) {
      const image = parseImage(bytes);
      if ("problem" in image) throw refuse("The image of the clipboard", image.problem);
      return addImage(image, name);
    },
    restore(message) {
      const stored = message.parts.filter((part) => part.type === "image");
      for (const [index, mark] of marksOf(firstTextOf(message)).entries()) {
        const image = stored[index];
        if (image !== undefined) images.set(mark, image);
      }
    },
    // Compare whole marks: in a message of an earlier chat, the same number may belong to another image.
    of: (text) => marksOf(text).flatMap((mark) => images.get(mark) ?? []),
  };
}

function marksOf(text: string): string[] {
  return [...new Set(text.match(MARK))];
}

/** The path in a pasted text that is only the path of an image: quoted, escaped or as a `file://` address, as terminals paste dropped files. */
export function findImagePath(text: string): string | undefined {
  const trimmed = text.trim();
  if (trimmed.includes("\n") || !/\.(?:png|jpe?g|gif|webp)['"]?$/i.test(trimmed)) return undefined;
  if (trimmed.startsWith("file://")) return URL.canParse(trimmed) ? fileURLToPath(trimmed) : undefined;
  return unquotePath(trimmed);
}

/** A path as it would be typed in a shell: quoted, escaped, or in the home folder. */
function unquotePath(text: string): string {
  const quoted = /^(['"])(.*)\1$/.exec(text)?.[2];
  return quoted ?? text.replace(/^~(?=\/)/, homedir()).replace(/\\(.)/g, "$1");
}
