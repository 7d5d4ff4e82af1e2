import { spawn } from "node:child_process";
import { once } from "node:events";
import { writeFileAtomic } from "../../lib/files/files.ts";

/** Terminals refuse or cut longer texts. */
const MAX_OSC52_BYTES = 100_000;
type Program = readonly [string, ...string[]];
const DESKTOP: readonly Program[] = [["wl-copy"], ["xclip", "-selection", "clipboard"], ["pbcopy"]];
/** Programs in tmux may not set the clipboard of the terminal with an escape sequence, but tmux itself does so. */
const TMUX: Program = ["tmux", "load-buffer", "-w", "-"];

export interface ClipboardParts {
  readonly variables: NodeJS.ProcessEnv;
  /** Writes directly to the terminal, without changing what the screen shows. */
  write(text: string): void;
  /** The file to write if nothing else works. */
  readonly file: string;
}

/** Copies text in the first way that works (tmux, the terminal, a desktop program, or a file) and returns a sentence that says which. */
export async function copyText(text: string, { variables, write, file }: ClipboardParts): Promise<string> {
  if (variables["TMUX"] !== undefined && (await pipeTo(TMUX, text, variables)))
    return "Copied with tmux, to its buffer and the clipboard of the terminal.";
  const isRemote = ["SSH_TTY", "SSH_CONNECTION"].some((name) => variables[name] !== undefined);
  if (isRemote && Buffer.byteLength(text) <= MAX_OSC52_BYTES) {
    write(`\u001b]52;c;${Buffer.from(text).toString("base64")}\u0007`);
    return "Copied through the terminal (OSC 52).";
  }
  const hasDesktop =
    ["WAYLAND_DISPLAY", "DISPLAY"].some((name) => variables[name]) || process.platform === "darwin";
  for (const program of hasDesktop ? DESKTOP : [])
    if (await pipeTo(program, text, variables)) return `Copied with ${program[0]}.`;
  await writeFileAtomic(file, text);
  return `There is no clipboard here; the text is in ${file}.`;
}

async function pipeTo(
  [program, ...args]: Program,
  text: string,
  variables: NodeJS.ProcessEnv,
): Promise<boolean> {
  const child = spawn(program, args, { stdio: ["pipe", "ignore", "ignore"], env: variables });
  child.stdin.on("error", () => undefined); // the exit code reports the failure
  child.stdin.end(text);
  const code = await once(child, "exit").then(
    ([exit]) => exit as number | null,
    () => 1,
  );
  return code === 0;
}
