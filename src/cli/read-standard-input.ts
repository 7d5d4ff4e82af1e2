import { addAbortSignal } from "node:stream";
import { AppError } from "../lib/errors.ts";

/** All that is piped in, as text; refused when it is more than the caller can use. */
export async function readStandardInput(
  mostBytes: number,
  hint: string | undefined,
  signal: AbortSignal,
): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of addAbortSignal(signal, process.stdin)) {
    const buffer = Buffer.from(chunk as Uint8Array);
    bytes += buffer.length;
    if (bytes > mostBytes)
      throw new AppError("usage-wrong", `More than ${mostBytes} bytes were piped in.`, {
        ...(hint !== undefined && { hint }),
      });
    chunks.push(buffer);
  }
  return Buffer.concat(chunks).toString("utf8");
}
