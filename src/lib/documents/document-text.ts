/** The kinds of documents whose text can be read. */
export type DocumentKind = "PDF" | "Word document" | "Excel workbook" | "Jupyter notebook" | "web page";

/** The text of a document, with marks at each page, sheet or cell. */
export interface DocumentText {
  readonly text: string;
  /** What was omitted, as sentences without a final full stop. */
  readonly omitted: readonly string[];
}

/** Limits that keep a hostile document from filling memory or context. */
export const MAX_TEXT_CHARS = 2_000_000;
export const MAX_PDF_PAGES = 1_000;
/** Time for the pages of a PDF, after which the rest is omitted. */
export const MAX_PDF_MS = 20_000;

/** Why a document has no text; its message completes "it cannot be read: …". */
export class UnreadableDocument extends Error {}

const ZIP = "504b0304";
const PDF = "255044462d";

/** Finds the kind of a document by its first bytes and its name; undefined if the file is not a known document. */
export function findDocumentKind(path: string, sample: Uint8Array): DocumentKind | undefined {
  const hex = Buffer.from(sample.subarray(0, 8)).toString("hex");
  if (hex.startsWith(PDF) || /\.pdf$/i.test(path)) return "PDF";
  if (hex.startsWith(ZIP) && /\.docx$|\.docm$/i.test(path)) return "Word document";
  if (hex.startsWith(ZIP) && /\.xlsx$|\.xlsm$/i.test(path)) return "Excel workbook";
  return /\.ipynb$/i.test(path) ? "Jupyter notebook" : undefined;
}

/** Collects text up to the limit; later text is dropped and counted as omitted. */
export class TextCollector {
  #text = "";
  #isFull = false;

  get isFull(): boolean {
    return this.#isFull;
  }

  add(text: string): void {
    const room = MAX_TEXT_CHARS - this.#text.length;
    if (text.length > room) this.#isFull = true;
    this.#text += text.slice(0, Math.max(room, 0));
  }

  end(omitted: readonly string[] = []): DocumentText {
    const full = this.#isFull ? [`only the first ${MAX_TEXT_CHARS} characters are shown`] : [];
    return { text: this.#text.trimEnd(), omitted: [...omitted, ...full] };
  }
}
