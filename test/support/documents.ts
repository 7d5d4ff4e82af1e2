import { crc32, deflateRawSync } from "node:zlib";

/** A ZIP archive with these parts, as office programs write it. */
export function createZip(parts: Readonly<Record<string, string | Buffer>>): Buffer {
  const files: Buffer[] = [];
  const directory: Buffer[] = [];
  let offset = 0;
  for (const [name, content] of Object.entries(parts)) {
    const data = deflateRawSync(content);
    const facts = Buffer.alloc(26);
    facts.writeUInt16LE(20, 0);
    facts.writeUInt16LE(8, 4);
    facts.writeUInt32LE(typeof crc32 === "function" ? crc32(content) : 0, 10);
    facts.writeUInt32LE(data.length, 14);
    facts.writeUInt32LE(Buffer.byteLength(content), 18);
    facts.writeUInt16LE(name.length, 22);
    files.push(Buffer.from("504b0304", "hex"), facts, Buffer.from(name), data);
    const rest = Buffer.alloc(14);
    rest.writeUInt32LE(offset, 10);
    directory.push(Buffer.from("504b01021400", "hex"), facts, rest, Buffer.from(name));
    offset += 30 + name.length + data.length;
  }
  const entries = Buffer.concat(directory);
  const end = Buffer.alloc(22);
  end.writeUInt32LE(0x06054b50, 0);
  end.writeUInt16LE(Object.keys(parts).length, 8);
  end.writeUInt16LE(Object.keys(parts).length, 10);
  end.writeUInt32LE(entries.length, 12);
  end.writeUInt32LE(offset, 16);
  return Buffer.concat([...files, entries, end]);
}

/** A Word document with a heading, a list, a table and a deleted word. */
export function createWord(): Buffer {
  const run = (text: string): string => `<w:r><w:t>${text}</w:t></w:r>`;
  const cell = (text: string): string => `<w:tc><w:p>${run(text)}</w:p></w:tc>`;
  return createZip({
    "[Content_Types].xml": "<Types/>",
    "word/document.xml": [
      "<w:document><w:body>",
      `<w:p><w:pPr><w:pStyle w:val="Heading2"/></w:pPr>${run("Plan &amp; goals")}</w:p>`,
      `<w:p><w:pPr><w:numPr/></w:pPr>${run("first")}<w:tab/>${run("point")}<w:del><w:r><w:delText>gone</w:delText></w:r></w:del></w:p>`,
      `<w:tbl><w:tr>${cell("a")}${cell("b")}</w:tr><w:tr>${cell("c")}${cell("d")}</w:tr></w:tbl>`,
      "</w:body></w:document>",
    ].join(""),
    "word/footnotes.xml": `<w:footnotes><w:footnote><w:p>${run("see page 3")}</w:p></w:footnote></w:footnotes>`,
  });
}

/** A workbook with two sheets: shared and inline strings, a date, a formula, a gap and a boolean. */
export function createWorkbook(): Buffer {
  return createZip({
    "xl/workbook.xml":
      '<workbook><sheets><sheet name="Costs &amp; dates" r:id="rId7"/><sheet name="Empty" r:id="rId8"/></sheets></workbook>',
    "xl/_rels/workbook.xml.rels":
      '<Relationships><Relationship Id="rId7" Target="worksheets/one.xml"/><Relationship Id="rId8" Target="/xl/worksheets/two.xml"/></Relationships>',
    "xl/sharedStrings.xml": "<sst><si><t>Item</t></si><si><r><t>Two</t></r><r><t> runs</t></r></si></sst>",
    "xl/styles.xml":
      '<styleSheet><numFmts><numFmt numFmtId="170" formatCode="yyyy\\-mm"/></numFmts><cellStyleXfs><xf numFmtId="14"/></cellStyleXfs><cellXfs><xf numFmtId="0"/><xf numFmtId="14"/><xf numFmtId="170"/></cellXfs></styleSheet>',
    "xl/worksheets/one.xml": [
      "<worksheet><sheetData>",
      '<row r="1"><c r="A1" t="s"><v>0</v></c><c r="B1" t="inlineStr"><is><t>Inline\ntext</t></is></c></row>',
      '<row r="4"><c r="A4" t="s"><v>1</v></c><c r="D4" s="1"><v>45000</v></c><c r="E4" s="0"><v>1.5</v></c></row>',
      '<row r="5"><c r="B5" t="b"><v>1</v></c><c r="C5"><f>A1+1</f></c><c r="D5" s="2"><v>45000.5</v></c></row>',
      "</sheetData></worksheet>",
    ].join(""),
    "xl/worksheets/two.xml": "<worksheet><sheetData/></worksheet>",
  });
}

/** A PDF of this many pages, each with two lines; `content` replaces the content stream of the first page. */
export function createPdf(pages: number, content?: Buffer): Buffer {
  const objects: (Buffer | string)[] = [];
  const kids: string[] = [];
  for (let page = 0; page < pages; page++) {
    const id = 4 + page * 2;
    kids.push(`${id} 0 R`);
    objects[id] =
      `<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Resources << /Font << /F1 3 0 R >> >> /Contents ${id + 1} 0 R >>`;
    const plain = `BT /F1 12 Tf 72 720 Td (Page ${page + 1} begins) Tj 0 -14 Td (and ends) Tj ET`;
    const [stream, filter] =
      page === 0 && content ? [content, "/Filter /FlateDecode"] : [Buffer.from(plain), ""];
    objects[id + 1] = Buffer.concat([
      Buffer.from(`<< /Length ${stream.length} ${filter} >>\nstream\n`),
      stream,
      Buffer.from("\nendstream"),
    ]);
  }
  objects[1] = "<< /Type /Catalog /Pages 2 0 R >>";
  objects[2] = `<< /Type /Pages /Kids [${kids.join(" ")}] /Count ${pages} >>`;
  objects[3] = "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>";
  const parts = [Buffer.from("%PDF-1.4\n")];
  const offsets: number[] = [];
  let length = parts[0]?.length ?? 0;
  for (const [id, object] of objects.entries()) {
    if (id === 0) continue;
    const part = Buffer.concat([
      Buffer.from(`${id} 0 obj\n`),
      Buffer.from(object),
      Buffer.from("\nendobj\n"),
    ]);
    offsets.push(length);
    length += part.length;
    parts.push(part);
  }
  const rows = offsets.map((offset) => `${String(offset).padStart(10, "0")} 00000 n \n`).join("");
  const size = objects.length;
  const trailer = `trailer << /Size ${size} /Root 1 0 R >>\nstartxref\n${length}\n%%EOF\n`;
  return Buffer.concat([...parts, Buffer.from(`xref\n0 ${size}\n0000000000 65535 f \n${rows}${trailer}`)]);
}
