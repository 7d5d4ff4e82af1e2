import { z } from "zod";
import { stripEscapes } from "../text/strip-escapes.ts";
import { type DocumentText, TextCollector, UnreadableDocument } from "./document-text.ts";

const MAX_OUTPUT_CHARS = 10_000;

const lines = z
  .union([z.string(), z.array(z.string())])
  .transform((text) => (Array.isArray(text) ? text.join("") : text));
const output = z.object({
  text: lines.optional(),
  data: z.record(z.string(), z.unknown()).optional(),
  ename: z.string().optional(),
  evalue: z.string().optional(),
});
const cell = z.object({
  cell_type: z.string(),
  source: lines.optional(),
  input: lines.optional(), // format 3
  execution_count: z.number().nullish(),
  outputs: z.array(output.catch({})).optional(),
});
const notebook = z.object({
  cells: z.array(cell).optional(),
  worksheets: z.array(z.object({ cells: z.array(cell) })).optional(), // format 3
});

/** Reads the cells of a notebook, each with its number, kind and outputs. */
export function readNotebook(bytes: Uint8Array): DocumentText {
  const found = notebook.safeParse(parseJson(Buffer.from(bytes).toString("utf8")));
  const cells = found.data?.cells ?? found.data?.worksheets?.flatMap((sheet) => sheet.cells);
  if (cells === undefined) throw new UnreadableDocument("it is not the JSON of a notebook");
  const collector = new TextCollector();
  for (const [
    index,
    { cell_type: kind, source, input, execution_count: run, outputs = [] },
  ] of cells.entries()) {
    const ran = run === undefined || run === null ? "" : `, run ${run}`;
    collector.add(`--- cell ${index + 1} of ${cells.length} (${kind}${ran}) ---\n`);
    collector.add(`${(source ?? input ?? "").trimEnd()}\n`);
    for (const one of outputs) {
      const shown = showOutput(one).trimEnd();
      if (shown !== "") collector.add(`[output]\n${shown}\n`);
    }
    collector.add("\n");
    if (collector.isFull) break;
  }
  return collector.end();
}

function showOutput({ text, data = {}, ename, evalue }: z.infer<typeof output>): string {
  if (ename !== undefined) return `${ename}: ${evalue ?? ""}`;
  const plain = text ?? lines.safeParse(data["text/plain"]).data ?? "";
  const others = Object.keys(data).filter((type) => type !== "text/plain" && !type.startsWith("text/html"));
  const shown = stripEscapes(plain);
  const cut =
    shown.length > MAX_OUTPUT_CHARS ? `${shown.slice(0, MAX_OUTPUT_CHARS)}\n[output truncated]` : shown;
  return [...(cut === "" ? [] : [cut]), ...others.map((type) => `[${type}]`)].join("\n");
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
