import { parentPort, workerData } from "node:worker_threads";
import { type DocumentKind, type DocumentText, UnreadableDocument } from "./document-text.ts";
import { readHtml } from "./html-text.ts";
import { readNotebook } from "./notebook-text.ts";
import { readPdf } from "./pdf-text.ts";
import { readWord } from "./word-text.ts";
import { readWorkbook } from "./workbook-text.ts";

/** What the document thread gets and returns. */
export interface DocumentOrder {
  readonly kind: DocumentKind;
  readonly bytes: Uint8Array;
  /** The address that the links of a web page are relative to. */
  readonly base?: string | undefined;
}
export type DocumentAnswer = DocumentText | { readonly problem: string };

type Reader = (bytes: Uint8Array, base: string) => DocumentText | Promise<DocumentText>;

const READERS: Readonly<Record<DocumentKind, Reader>> = {
  PDF: (bytes) => readPdf(bytes),
  "Word document": readWord,
  "Excel workbook": readWorkbook,
  "Jupyter notebook": readNotebook,
  "web page": (bytes, base) => readHtml(Buffer.from(bytes).toString("utf8"), base),
};

async function answer({ kind, bytes, base = "" }: DocumentOrder): Promise<DocumentAnswer> {
  try {
    return await READERS[kind](bytes, base);
  } catch (error) {
    if (error instanceof UnreadableDocument) return { problem: error.message };
    throw error;
  }
}

void answer(workerData as DocumentOrder).then((read) => parentPort?.postMessage(read));
