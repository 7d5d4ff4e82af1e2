import { createReadStream } from "node:fs";
import { StringDecoder } from "node:string_decoder";
import { AppError, messageOf } from "../../../../lib/errors.ts";
import { inputChunks } from "../../../terminal/read-standard-input.ts";
import type { Terminal } from "../../../terminal/terminal.ts";

const LONGEST = 64 * 1024 * 1024;

/** Yields the non-blank lines of a file, or of standard input for `-`. */
export async function* readLines(
  path: string,
  terminal: Terminal,
  signal: AbortSignal,
): AsyncGenerator<string> {
  const decoder = new StringDecoder("utf8");
  let rest = "";
  for await (const chunk of chunksOf(path, terminal, signal)) {
    const lines = (rest + decoder.write(chunk)).split("\n");
    rest = lines.pop() ?? "";
    if (rest.length > LONGEST) throw new AppError("usage-wrong", `A line of ${path} is longer than 64 MiB.`);
    for (const line of lines) if (line.trim() !== "") yield line;
  }
  rest += decoder.end();
  if (rest.trim() !== "") yield rest;
}

async function* chunksOf(path: string, terminal: Terminal, signal: AbortSignal): AsyncGenerator<Buffer> {
  try {
    for await (const chunk of path === "-"
      ? inputChunks(terminal, signal)
      : createReadStream(path, { signal }))
      yield Buffer.from(chunk as Uint8Array);
  } catch (error) {
    signal.throwIfAborted();
    throw new AppError("file-unreadable", `Cannot read ${path}: ${messageOf(error)}`, { cause: error });
  }
}
