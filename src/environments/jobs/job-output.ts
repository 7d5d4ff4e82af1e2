import { AppError } from "../../lib/errors.ts";
import { tailOf } from "../../lib/shorten.ts";
import { leftoverBytes, unfinishedBytes } from "../utf8-boundary.ts";
import type { Control } from "./control.ts";
import type { JobRecord } from "./job.ts";
import type { LogPage, OutputPiece } from "./jobs.ts";
import { LOG, READ } from "./output-programs.ts";

const WITHIN_MS = 60_000;
const PREVIEW_CHARS = 1_000;
const PAGE_LINES = 200;
const PAGE_BYTES = 200_000;
const PIECE_BYTES = 256 * 1024;

/** What jobs have printed, as far as it is kept. */
export interface JobOutput {
  page(
    job: JobRecord,
    page: { readonly offset?: number; readonly limit?: number },
    signal: AbortSignal,
  ): Promise<LogPage & { readonly sawEnd: boolean }>;
  /** The end of it, as text that may be shown. */
  preview(job: JobRecord, signal: AbortSignal): Promise<string>;
  /** Bytes as they were printed, at most so many that memory does not matter. */
  read(job: JobRecord, from: number, signal: AbortSignal): Promise<OutputPiece>;
}

export function createJobOutput(control: Control, redact: (text: string) => string): JobOutput {
  /** The numbers of the first line of what a program prints, and the rest. */
  async function ask(
    { id }: JobRecord,
    program: string,
    fields: readonly (string | number)[],
    signal: AbortSignal,
  ): Promise<{ readonly numbers: readonly number[]; readonly body: Buffer }> {
    const output = await control.run(program, { fields, timeoutMs: WITHIN_MS }, signal);
    const headEnd = output.indexOf("\n");
    const head = output.toString("latin1", 0, Math.max(headEnd, 0));
    if (!/^\d+( \d+)+$/.test(head))
      throw new AppError("job-unreachable", `the output of ${id} is not there any more`);
    return { numbers: head.split(" ").map(Number), body: output.subarray(headEnd + 1) };
  }

  async function read(job: JobRecord, from: number, signal: AbortSignal): Promise<OutputPiece> {
    if (job.folder === undefined) return { job, from: 0, bytes: Buffer.alloc(0), totalBytes: 0 };
    const { numbers, body } = await ask(job, READ, [job.folder, from, PIECE_BYTES], signal);
    const [start = 0, totalBytes = 0] = numbers;
    return { job, from: start, bytes: body, totalBytes };
  }

  return {
    read,
    async preview(job, signal) {
      const { bytes } = await read(job, -PREVIEW_CHARS * 4, signal);
      return tailOf(redact(textOf(bytes, true)), PREVIEW_CHARS);
    },
    async page(job, { offset, limit = PAGE_LINES }, signal) {
      const counts = { totalLines: 0, totalBytes: 0, droppedBytes: 0, droppedLines: 0 };
      if (job.folder === undefined)
        return { job, text: "", offset: 0, ...counts, isCut: false, sawEnd: true };
      const fields = [job.folder, offset ?? "", limit, PAGE_BYTES + 1];
      const { numbers, body } = await ask(job, LOG, fields, signal);
      const [totalLines = 0, totalBytes = 0, first = 0, droppedBytes = 0, droppedLines = 0] = numbers;
      const isCut = body.length > PAGE_BYTES;
      const isTail = offset === undefined;
      const shown = isTail ? body.subarray(-PAGE_BYTES) : body.subarray(0, PAGE_BYTES);
      return {
        job,
        text: redact(textOf(shown, isCut)),
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

/** Bytes as text; a character that a cut has split is left out. */
function textOf(bytes: Buffer, isCut: boolean): string {
  if (!isCut) return bytes.toString("utf8");
  return bytes.toString("utf8", leftoverBytes(bytes), bytes.length - unfinishedBytes(bytes));
}
