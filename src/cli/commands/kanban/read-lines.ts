import { createReadStream } from "node:fs";
import { StringDecoder } from "node:string_decoder";
import { AppError, messageOf } from "../../../lib/errors.ts";

const LONGEST = 64 * 1024 * 1024;

/** The lines of a file, or of standard input for `-`, one by one and without those that are blank. */
export async function* readLines(path: string): AsyncGenerator<string> {
  const decoder = new StringDecoder("utf8");
  let rest = "";
  for await (const chunk of chunksOf(path)) {
    const lines = (rest + decoder.write(chunk)).split("\n");
    rest = lines.pop() ?? "";
    if (rest.length > LONGEST) throw new AppError("usage-wrong", `A line of ${path} has more than 64 MiB.`);
    for (const line of lines) if (line.trim() !== "") yield line;
  }
  rest += decoder.end();
  if (rest.trim() !== "") yield rest;
}

async function* chunksOf(path: string): AsyncGenerator<Buffer> {
  try {
    for await (const chunk of path === "-" ? process.stdin : createReadStream(path))
      yield Buffer.from(chunk as Uint8Array);
  } catch (error) {
    throw new AppError("file-unreadable", `Cannot read ${path}: ${messageOf(error)}`, { cause: error });
  }
}
