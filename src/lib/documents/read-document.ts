import { Worker } from "node:worker_threads";
import { openDeadline } from "../time/deadline.ts";
import type { DocumentKind } from "./document-text.ts";
import type { DocumentAnswer, DocumentOrder } from "./document-worker.ts";
import { documentWorkerCode } from "./worker-code.ts";

/** The largest file that is read as a document. */
export const MAX_DOCUMENT_BYTES = 50 * 1024 * 1024;

const MAX_HEAP_MB = 256;
const WATCH_MS = 20;
const LIMITS = {
  /** Longer than a PDF may take for its pages, so that the pages read so far are not lost. */
  maxMs: 40_000,
  /** Limit for the memory of the whole process, because the buffers of a thread are not part of its heap. */
  maxGrowthBytes: 400 * 1024 * 1024,
};

/**
 * Reads the text of a document, or of a web page in UTF-8, in a separate thread, which is ended if it takes too long or needs
 * too much memory. A damaged or hostile document results in a problem, never in an exception.
 */
export async function readDocument(
  kind: DocumentKind,
  bytes: Uint8Array,
  options: Partial<typeof LIMITS> & Pick<DocumentOrder, "base">,
  signal: AbortSignal,
): Promise<DocumentAnswer> {
  const { maxMs, maxGrowthBytes, base } = { ...LIMITS, ...options };
  using deadline = openDeadline(signal, maxMs);
  const worker = new Worker(documentWorkerCode(), {
    workerData: { kind, bytes, base } satisfies DocumentOrder,
    execArgv: [],
    env: {},
    stdout: true, // a library's own messages must not appear in our output
    stderr: true,
    resourceLimits: { maxOldGenerationSizeMb: MAX_HEAP_MB },
  });
  const before = process.memoryUsage.rss();
  let watch: NodeJS.Timeout | undefined;
  try {
    return await new Promise<DocumentAnswer>((resolve, reject) => {
      const fail = (problem: string): void => resolve({ problem });
      watch = setInterval(() => {
        if (process.memoryUsage.rss() - before > maxGrowthBytes) fail("it needs too much memory");
      }, WATCH_MS);
      const onAbort = (): void =>
        deadline.isOver ? fail("it takes too long to read") : reject(signal.reason);
      if (deadline.signal.aborted) onAbort();
      deadline.signal.addEventListener("abort", onAbort, { once: true });
      worker.once("message", resolve);
      worker.once("error", (error) => {
        if ("code" in error && error.code === "ERR_WORKER_OUT_OF_MEMORY") fail("it needs too much memory");
        else fail(`reading it failed (${error.message})`);
      });
      worker.once("exit", () => fail("reading it failed"));
    });
  } finally {
    clearInterval(watch);
    await worker.terminate();
  }
}
