import { parentPort, workerData } from "node:worker_threads";
import { type DocumentKind, type DocumentText, UnreadableDocument } from "./document-text.ts";
import { readNotebook } from "./notebook-text.ts";
import { readPdf } from "./pdf-text.ts";
import { readWord } from "./word-text.ts";
import { readWorkbook } from "./workbook-text.ts";

/** The order and the answer of the thread that reads one document. */
export interface DocumentOrder {
  readonly kind: DocumentKind;
  readonly bytes: Uint8Array;
}
export type DocumentAnswer = DocumentText | { readonly problem: string };

const READERS: Readonly<Record<DocumentKind, (bytes: Uint8Array) => DocumentText | Promise<DocumentText>>> = {
  PDF: readPdf,
  "Word document": readWord,
  "Excel workbook": readWorkbook,
  "Jupyter notebook": readNotebook,
};

async function answer({ kind, bytes }: DocumentOrder): Promise<DocumentAnswer> {
  try {
    return await READERS[kind](bytes);
  } catch (error) {
    if (error instanceof UnreadableDocument) return { problem: error.message };
    throw error;
  }
}

void answer(workerData as DocumentOrder).then((read) => parentPort?.postMessage(read));
