import { spawn } from "node:child_process";
import { once } from "node:events";
import { buffer } from "node:stream/consumers";

export type ClipboardContent =
  | { readonly image: Uint8Array }
  | { readonly text: string }
  | { readonly problem: string };

type Program = readonly [string, ...string[]];
const IMAGES: readonly Program[] = [
  ["wl-paste", "--type", "image/png"],
  ["xclip", "-selection", "clipboard", "-target", "image/png", "-out"],
  ["pngpaste", "-"],
];
const TEXTS: readonly Program[] = [
  ["wl-paste", "--no-newline"],
  ["xclip", "-selection", "clipboard", "-out"],
  ["pbpaste"],
];

/** The content of the desktop's clipboard: an image if there is one, otherwise text. */
export async function readClipboard(variables: NodeJS.ProcessEnv): Promise<ClipboardContent> {
  if (variables["SSH_TTY"] !== undefined || variables["SSH_CONNECTION"] !== undefined)
    return { problem: "The clipboard is on the other side of SSH: copy the file here, then /image PATH." };
  const hasDesktop =
    ["WAYLAND_DISPLAY", "DISPLAY"].some((name) => variables[name]) || process.platform === "darwin";
  if (!hasDesktop) return { problem: "There is no desktop here whose clipboard could be read: /image PATH." };
  for (const program of IMAGES) {
    const image = await readOutput(program);
    if (image !== undefined && image.length > 0) return { image };
  }
  for (const program of TEXTS) {
    const text = await readOutput(program);
    if (text !== undefined) return { text: text.toString("utf8") };
  }
  return { problem: "The clipboard is empty, or none of wl-paste, xclip and pngpaste is installed." };
}

/** The output of a program; undefined if it is missing or failed. */
async function readOutput([program, ...args]: Program): Promise<Buffer | undefined> {
  const child = spawn(program, args, { stdio: ["ignore", "pipe", "ignore"] });
  const ended = once(child, "close").then(
    ([code]) => code === 0,
    () => false,
  );
  const output = await buffer(child.stdout);
  return (await ended) ? output : undefined;
}
