import { AppError } from "../lib/errors.ts";
import { type FetchRules, fetchUrl, refuseUrl } from "../lib/http/fetch-url.ts";
import type { HttpResponse } from "../lib/http/http-exchange.ts";
import { openDeadline } from "../lib/time/deadline.ts";
import { type ParsedImage, parseImage } from "../providers/image.ts";

const MAX_BYTES = 5 * 1024 * 1024;
const MAX_MS = 30_000;
/** The time limit for converting a page to text: a damaged or hostile page may nest elements endlessly. */
const MAX_PAGE_MS = 10_000;

/** Fetches a public address: the text of a page or document, or an image. */
export async function fetchPage(
  address: string,
  rules: FetchRules,
  signal: AbortSignal,
): Promise<{ readonly text: string } | { readonly image: ParsedImage }> {
  using deadline = openDeadline(signal, MAX_MS);
  const read = async (url: URL, response: HttpResponse) => {
    if (response.status >= 400) throw refuseUrl(url, `it answers with status ${response.status}`);
    const bytes = await readBody(response, url, deadline.signal);
    return convert(bytes, response.header("content-type") ?? "", url, signal);
  };
  try {
    return await fetchUrl(address, rules, read, deadline.signal);
  } catch (error) {
    signal.throwIfAborted();
    if (deadline.isOver) throw refuseUrl(new URL(address), `it took longer than ${MAX_MS / 1_000} seconds`);
    throw error;
  }
}

async function readBody(response: HttpResponse, url: URL, signal: AbortSignal): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let size = 0;
  const read = async (): Promise<Buffer | undefined> => {
    try {
      return await response.read();
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof AppError) throw error;
      throw refuseUrl(url, "the connection was closed before its end");
    }
  };
  for (let chunk = await read(); chunk !== undefined; chunk = await read()) {
    size += chunk.length;
    if (size > MAX_BYTES) throw refuseUrl(url, `it is larger than ${MAX_BYTES / 1024 / 1024} MB`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

async function convert(bytes: Buffer, contentType: string, url: URL, signal: AbortSignal) {
  const [type = ""] = contentType.toLowerCase().split(";");
  if (type.startsWith("image/") && type !== "image/svg+xml") return { image: parseImage(bytes) };
  const isPage = /^(?:text\/html|application\/xhtml\+xml)$/.test(type);
  const text = type === "application/pdf" ? "" : decode(bytes, contentType);
  if (type === "application/pdf" || isPage) {
    const { readDocument } = await import("../lib/documents/read-document.ts");
    const read = isPage
      ? await readDocument("web page", Buffer.from(text), { base: url.href, maxMs: MAX_PAGE_MS }, signal)
      : await readDocument("PDF", bytes, {}, signal);
    if ("problem" in read) throw refuseUrl(url, read.problem);
    return { text: [read.text, ...read.omitted.map((note) => `[${note}]`)].join("\n") };
  }
  if (text.includes("\0")) throw refuseUrl(url, `its content (${type || "of unknown type"}) is not text`);
  return { text };
}

/** An unknown character set is read as UTF-8, which shows at least its ASCII characters. */
function decode(bytes: Buffer, contentType: string): string {
  const charset = /charset=["']?([\w-]+)/i.exec(contentType)?.[1] ?? "utf-8";
  try {
    return new TextDecoder(charset).decode(bytes);
  } catch (error) {
    if (error instanceof RangeError) return bytes.toString("utf8");
    throw error;
  }
}
