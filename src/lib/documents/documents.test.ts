import { deflateSync } from "node:zlib";
import { expect, it } from "vitest";
import { createPdf, createWord, createWorkbook, createZip } from "../../../test/support/documents.ts";
import { neverAborted } from "../time/never-aborted.ts";
import { findDocumentKind, MAX_TEXT_CHARS } from "./document-text.ts";
import { readNotebook } from "./notebook-text.ts";
import { readPdf } from "./pdf-text.ts";
import { readDocument } from "./read-document.ts";
import { readWord } from "./word-text.ts";
import { readWorkbook } from "./workbook-text.ts";

it("agent C3: the kind of a document is detected from its content, and for an archive from its name too", () => {
  const zip = createZip({ a: "" });
  expect(findDocumentKind("/a/report.txt", createPdf(1))).toBe("PDF");
  expect(findDocumentKind("/a/report.docx", zip)).toBe("Word document");
  expect(findDocumentKind("/a/report.XLSX", zip)).toBe("Excel workbook");
  expect(findDocumentKind("/a/report.zip", zip)).toBeUndefined();
  expect(findDocumentKind("/a/report.docx", Buffer.from("plain"))).toBeUndefined();
});

it("agent C3: a Word document becomes headings, lists, rows of tables and notes, without deleted text", () => {
  expect(readWord(createWord())).toEqual({
    text: "## Plan & goals\n- first\tpoint\na\tb\nc\td\n\n--- footnotes ---\nsee page 3",
    omitted: [],
  });
});

it("agent C3: a workbook becomes rows with their numbers, below the name of each sheet", () => {
  expect(readWorkbook(createWorkbook()).text).toBe(
    [
      "--- sheet 1 of 2: Costs & dates ---",
      "1: Item\tInline text",
      "4: Two runs\t\t\t2023-03-15\t1.5",
      "5: \tTRUE\t=A1+1\t2023-03-15 12:00:00",
      "",
      "--- sheet 2 of 2: Empty ---",
    ].join("\n"),
  );
});

it("agent C3: a notebook becomes cells with their outputs; pictures are only named", () => {
  const cells = [
    { cell_type: "markdown", source: ["# Title\n", "text"] },
    {
      cell_type: "code",
      source: "print(1)",
      execution_count: 7,
      outputs: [
        { text: ["1\n"] },
        { data: { "image/png": "AAAA", "text/plain": "<Figure>" } },
        { ename: "KeyError", evalue: "'x'" },
      ],
    },
  ];
  expect(readNotebook(Buffer.from(JSON.stringify({ cells }))).text).toBe(
    [
      "--- cell 1 of 2 (markdown) ---\n# Title\ntext\n",
      "--- cell 2 of 2 (code, run 7) ---\nprint(1)\n[output]\n1",
      "[output]\n<Figure>\n[image/png]\n[output]\nKeyError: 'x'",
    ].join("\n"),
  );
});

it("agent C3: a PDF becomes pages with marks, and a long one says which pages were not read", async () => {
  expect(await readPdf(createPdf(2))).toEqual({
    text: "--- page 1 of 2 ---\nPage 1 begins\nand ends\n\n--- page 2 of 2 ---\nPage 2 begins\nand ends",
    omitted: [],
  });
  const long = await readPdf(createPdf(5_000), { maxPages: 20 });
  expect(long.text).toContain("--- page 20 of 5000 ---");
  expect(long.omitted).toEqual(["pages 21 to 5000 were not read"]);
  const slow = await readPdf(createPdf(5_000), { maxMs: 0 });
  expect(slow.omitted).toEqual(["pages 1 to 5000 were not read"]);
});

it("agent C3: the text of a document is limited, and the limit is named", () => {
  const cells = Array.from({ length: 3 }, () => ({ cell_type: "raw", source: "x".repeat(1_000_000) }));
  const { text, omitted } = readNotebook(Buffer.from(JSON.stringify({ cells })));
  expect(text.length).toBe(MAX_TEXT_CHARS);
  expect(omitted).toEqual([`only the first ${MAX_TEXT_CHARS} characters are shown`]);
});

it.each([
  [
    "a ZIP bomb",
    readWord,
    () => createZip({ "word/document.xml": Buffer.alloc(105_000_000) }),
    "more than 100 MB",
  ],
  ["a truncated archive", readWorkbook, () => createWorkbook().subarray(0, 400), "it is damaged"],
  ["an archive of something else", readWord, () => createZip({ "a.txt": "a" }), "not a Word document"],
  ["JSON that is not a notebook", readNotebook, () => Buffer.from("[1]"), "not the JSON of a notebook"],
] as const)("agent C3: %s is refused with an explanation", (_, read, create, problem) => {
  expect(() => read(create())).toThrow(problem);
});

it("agent C3: a damaged document gives an explanation instead of an exception", async () => {
  const answer = await readDocument("PDF", Buffer.from("%PDF-1.4 garbage"), {}, neverAborted);
  expect(answer).toEqual({ problem: "it is damaged or not a PDF" });
});

it.each([
  [{ maxMs: 1_500 }, "it takes too long to read"],
  // Any growth exceeds this limit, even if the test process releases memory of its own meanwhile.
  [{ maxGrowthBytes: -(2 ** 40) }, "it needs too much memory"],
])("agent C3: reading a PDF whose page expands without end is abandoned (%j)", async (limits, problem) => {
  const bomb = deflateSync(Buffer.alloc(100_000_000, "0 0 m "), { level: 1 });
  expect(await readDocument("PDF", createPdf(1, bomb), limits, neverAborted)).toEqual({ problem });
});

it("agent C3: a PDF with a stream that expands too far is refused before the PDF library holds it in memory", async () => {
  const bomb = deflateSync(Buffer.alloc(140_000_000, "0 0 m "), { level: 1 });
  expect(await readDocument("PDF", createPdf(1, bomb), {}, neverAborted)).toEqual({
    problem: "one of its streams expands to more than 128 MB",
  });
});

it("a stop ends the reading of a document", async () => {
  await expect(readDocument("PDF", createPdf(1), {}, AbortSignal.abort())).rejects.toThrow();
});

it("agent A11: a web page that nests elements without end does not block the process", async () => {
  const page = Buffer.from(`${"<div>".repeat(400_000)}core`);
  expect(await readDocument("web page", page, { maxMs: 300 }, neverAborted)).toEqual({
    problem: "it takes too long to read",
  });
  const plain = Buffer.from('<p>caf\u00e9 <a href="b">link</a></p>');
  expect(await readDocument("web page", plain, { base: "https://example.com/a/" }, neverAborted)).toEqual({
    text: "caf\u00e9 link (https://example.com/a/b)",
    omitted: [],
  });
});
