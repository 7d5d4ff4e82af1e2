import {
  type DocumentText,
  MAX_PDF_MS,
  MAX_PDF_PAGES,
  TextCollector,
  UnreadableDocument,
} from "./document-text.ts";
import { requireBoundedStreams } from "./pdf-streams.ts";

/** Reads the text of a PDF page by page. */
export async function readPdf(
  bytes: Uint8Array,
  { maxPages = MAX_PDF_PAGES, maxMs = MAX_PDF_MS } = {},
): Promise<DocumentText> {
  requireBoundedStreams(bytes);
  const { getDocument } = await import("unpdf/pdfjs");
  const startedAt = performance.now();
  const loading = getDocument({
    data: new Uint8Array(bytes), // the library takes the bytes over, and refuses a Buffer
    verbosity: 0,
    isEvalSupported: false,
    disableFontFace: true,
    useSystemFonts: true, // the standard fonts are separate files, which text does not need
  });
  const pdf = await loading.promise.catch((cause: unknown) => {
    throw new UnreadableDocument(explain(cause), { cause });
  });
  const collector = new TextCollector();
  const { numPages: total } = pdf;
  let empty = 0;
  let page = 0;
  while (page < Math.min(total, maxPages) && !collector.isFull && performance.now() - startedAt < maxMs) {
    page++;
    const text = await readPage(pdf, page);
    if (text.trim() === "") empty++;
    collector.add(`--- page ${page} of ${total} ---\n${text.trimEnd()}\n\n`);
  }
  await loading.destroy();
  const omitted = [
    ...(page < total ? [`pages ${page + 1} to ${total} were not read`] : []),
    ...(empty > 0 ? [`${empty} of ${page} pages contain no text; they may be scanned images`] : []),
  ];
  return collector.end(omitted);
}

type Pdf = Awaited<ReturnType<typeof import("unpdf/pdfjs").getDocument>["promise"]>;

async function readPage(pdf: Pdf, number: number): Promise<string> {
  try {
    const page = await pdf.getPage(number);
    const { items } = await page.getTextContent();
    page.cleanup();
    return items.map((item) => ("str" in item ? `${item.str}${item.hasEOL ? "\n" : ""}` : "")).join("");
  } catch {
    return "[this page is damaged]";
  }
}

function explain(error: unknown): string {
  return error instanceof Error && error.name === "PasswordException"
    ? "it is protected with a password"
    : "it is damaged or not a PDF";
}
