import { AppError } from "../../lib/errors.ts";
import { plainOutput } from "../../lib/text/plain-output.ts";
import { headOf, tailOf } from "../../lib/text/shorten.ts";
import { continuationHeadBytes, incompleteTailBytes } from "../utf8-boundary.ts";
import type { JobRecord } from "./job.ts";
import type { Control } from "./job-control.ts";
import type { LogPage } from "./jobs.ts";
import { LOG, READ } from "./output-programs.ts";

const WITHIN_MS = 60_000;
const PREVIEW_CHARS = 1_000;
const PAGE_LINES = 200;
const PAGE_CHARS = 200_000;
/** Bytes read for a page or preview. Less is shown, because most of them may be earlier states of a progress line. */
const MAX_BYTES = 4 * 1024 * 1024;
const FIRST_READ_BYTES = 4 * PREVIEW_CHARS;
const READ_GROWTH = 16;
const PIECE_BYTES = 256 * 1024;

export type JobOutput = ReturnType<typeof createJobOutput>;

/** Reads the stored output of jobs. */
export function createJobOutput(control: Control, redact: (text: string) => string) {
  /** Runs a program that prints a line of numbers, then the output. */
  async function readOutput(
    { id }: JobRecord,
    program: string,
    fields: readonly (string | number)[],
    signal: AbortSignal,
  ): Promise<{ readonly numbers: readonly number[]; readonly body: Buffer }> {
    const output = await control.run(program, { fields, timeoutMs: WITHIN_MS }, signal);
    const headEnd = output.indexOf("\n");
    const head = output.toString("latin1", 0, Math.max(headEnd, 0));
    if (!/^\d+( \d+)+$/.test(head))
      throw new AppError("job-unreachable", `the output of ${id} no longer exists`);
    return { numbers: head.split(" ").map(Number), body: output.subarray(headEnd + 1) };
  }

  /** Removes control sequences and earlier states of progress lines before the text is cut, so that more output fits. */
  const toPlainText = (bytes: Buffer, isCut: boolean): string => redact(plainOutput(textOf(bytes, isCut)));

  async function read(job: JobRecord, from: number, maxBytes: number, signal: AbortSignal) {
    if (job.folder === undefined) return { job, from: 0, bytes: Buffer.alloc(0), totalBytes: 0 };
    const { numbers, body } = await readOutput(job, READ, [job.folder, from, maxBytes], signal);
    const [start = 0, totalBytes = 0] = numbers;
    return { job, from: start, bytes: body, totalBytes };
  }

  return {
    /** The raw bytes from `from` on, at most 256 KiB. */
    read: (job: JobRecord, from: number, signal: AbortSignal) => read(job, from, PIECE_BYTES, signal),
    /** The end of the output, redacted and without control sequences. */
    async preview(job: JobRecord, signal: AbortSignal): Promise<string> {
      for (let size = FIRST_READ_BYTES; ; size = Math.min(size * READ_GROWTH, MAX_BYTES)) {
        const { bytes } = await read(job, -size, size, signal);
        const text = toPlainText(bytes, true);
        const isAll = bytes.length < size || size === MAX_BYTES;
        if (isAll || text.length >= PREVIEW_CHARS) return tailOf(text, PREVIEW_CHARS);
      }
    },
    async page(
      job: JobRecord,
      { offset, limit = PAGE_LINES }: { readonly offset?: number; readonly limit?: number },
      signal: AbortSignal,
    ): Promise<LogPage & { readonly sawEnd: boolean }> {
      const counts = { totalLines: 0, totalBytes: 0, droppedBytes: 0, droppedLines: 0 };
      if (job.folder === undefined)
        return { job, text: "", offset: 0, ...counts, isCut: false, sawEnd: true };
      const fields = [job.folder, offset ?? "", limit, MAX_BYTES + 1];
      const { numbers, body } = await readOutput(job, LOG, fields, signal);
      const [totalLines = 0, totalBytes = 0, first = 0, droppedBytes = 0, droppedLines = 0] = numbers;
      const isTail = offset === undefined;
      const isLong = body.length > MAX_BYTES;
      const text = toPlainText(isTail ? body.subarray(-MAX_BYTES) : body.subarray(0, MAX_BYTES), isLong);
      const isCut = isLong || text.length > PAGE_CHARS;
      return {
        job,
        text: isTail ? tailOf(text, PAGE_CHARS) : headOf(text, PAGE_CHARS),
        offset: first,
        totalLines,
        totalBytes,
        droppedBytes,
        droppedLines,
        isCut,
        sawEnd: isTail || (!isCut && first + limit >= totalLines),
      };
    },
  };
}

/** Decodes bytes; omits a character that was split by cutting. */
function textOf(bytes: Buffer, isCut: boolean): string {
  if (!isCut) return bytes.toString("utf8");
  return bytes.toString("utf8", continuationHeadBytes(bytes), bytes.length - incompleteTailBytes(bytes));
}
