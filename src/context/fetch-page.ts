import { AppError } from "../lib/errors.ts";
import { type HttpClient, listCaFiles, openHttpClient, readProxySettings } from "../lib/http/http.ts";
import type { HttpResponse } from "../lib/http/http-exchange.ts";
import { openDeadline } from "../lib/time/deadline.ts";
import { type ParsedImage, parseImage } from "../providers/image.ts";

const MAX_BYTES = 5 * 1024 * 1024;
const MAX_MS = 30_000;
/** For the conversion of a page to text; a damaged or hostile one may nest elements without end. */
const MAX_PAGE_MS = 10_000;
const MAX_REDIRECTS = 5;

/** Where a page is fetched from, and which addresses are allowed. */
export interface FetchRules {
  readonly variables: Readonly<Record<string, string | undefined>>;
  readonly allowsPrivate: boolean;
}

/** Fetches a public address: the text of a page or document, or an image. */
export async function fetchPage(
  address: string,
  { variables, allowsPrivate }: FetchRules,
  signal: AbortSignal,
): Promise<{ readonly text: string } | { readonly image: ParsedImage }> {
  using deadline = openDeadline(signal, MAX_MS);
  await using http = openHttpClient({
    proxy: readProxySettings(variables),
    caFiles: listCaFiles(undefined, variables),
    onlyPublic: !allowsPrivate,
  });
  try {
    const { url, response } = await follow(http, parseAddress(address), deadline.signal);
    if (response.status >= 400) throw refuse(url, `it answers with status ${response.status}`);
    const bytes = await readBody(response, url, deadline.signal);
    return await convert(bytes, response.header("content-type") ?? "", url, signal);
  } catch (error) {
    signal.throwIfAborted();
    if (deadline.isOver) throw refuse(parseAddress(address), `it took longer than ${MAX_MS / 1_000} seconds`);
    throw error;
  }
}

function parseAddress(address: string): URL {
  const url = URL.canParse(address) ? new URL(address) : undefined;
  if (url !== undefined && /^https?:$/.test(url.protocol)) return url;
  throw new AppError("reference-refused", "Only http and https addresses can be fetched.", {
    hint: "Write the whole address, as in @url:https://example.com/page.",
  });
}

/** Every redirect is a new request, so that its address is checked like the first one. */
async function follow(
  http: HttpClient,
  start: URL,
  signal: AbortSignal,
): Promise<{ readonly url: URL; readonly response: HttpResponse }> {
  let url = start;
  for (let redirects = 0; redirects <= MAX_REDIRECTS; redirects++) {
    const headers = { "user-agent": "hermes-agent", accept: "text/html,text/*;q=0.9,*/*;q=0.5" };
    const response = await http.exchange(url, { method: "GET", headers, body: "" }, signal);
    const location = response.header("location");
    if (response.status < 300 || response.status >= 400 || location === undefined) return { url, response };
    if (!URL.canParse(location, url.href))
      throw refuse(url, "it redirects to something that is not an address");
    url = parseAddress(new URL(location, url.href).href);
  }
  throw refuse(start, `it redirects more than ${MAX_REDIRECTS} times`);
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
      throw refuse(url, "the connection was closed before its end");
    }
  };
  for (let chunk = await read(); chunk !== undefined; chunk = await read()) {
    size += chunk.length;
    if (size > MAX_BYTES) throw refuse(url, `it is larger than ${MAX_BYTES / 1024 / 1024} MB`);
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
    if ("problem" in read) throw refuse(url, read.problem);
    return { text: [read.text, ...read.omitted.map((note) => `[${note}]`)].join("\n") };
  }
  if (text.includes("\0")) throw refuse(url, `its content (${type || "of unknown type"}) is not text`);
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

function refuse({ host }: URL, why: string): AppError {
  return new AppError("reference-refused", `The page of ${host} cannot be used: ${why}.`, {
    hint: "Check the address in a browser, or remove the reference.",
  });
}
