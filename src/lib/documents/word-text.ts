import { Parser } from "htmlparser2";
import { type DocumentText, TextCollector, UnreadableDocument } from "./document-text.ts";
import { openZipArchive } from "./zip-archive.ts";

const NOTES = [
  ["word/footnotes.xml", "footnotes"],
  ["word/endnotes.xml", "endnotes"],
  ["word/comments.xml", "comments"],
] as const;

/** Reads the text of a Word document: headings, lists, tables, notes and comments; deleted text is omitted. */
export function readWord(bytes: Uint8Array): DocumentText {
  const archive = openZipArchive(bytes);
  const body = archive.read("word/document.xml");
  if (body === undefined) throw new UnreadableDocument("it has no text part, so it is not a Word document");
  const collector = new TextCollector();
  addParagraphs(body, collector);
  for (const [name, title] of NOTES) {
    const part = archive.read(name);
    const found = new TextCollector();
    if (part !== undefined) addParagraphs(part, found);
    const { text } = found.end();
    if (text !== "") collector.add(`\n--- ${title} ---\n${text}\n`);
  }
  return collector.end();
}

function addParagraphs(xml: string, collector: TextCollector): void {
  let line = "";
  let prefix = "";
  let depth = 0; // of tables: their cells are joined to one line per row
  let isText = false;
  const parser = new Parser(
    {
      onopentag(name, attributes) {
        if (name === "w:t") isText = true;
        else if (name === "w:tab") line += "\t";
        else if (name === "w:br" || name === "w:cr") line += depth > 0 ? " " : "\n";
        else if (name === "w:tbl") depth++;
        else if (name === "w:numPr") prefix ||= "- ";
        else if (name === "w:pStyle") prefix = headingMark(attributes["w:val"]) ?? prefix;
      },
      ontext(text) {
        if (isText) line += text;
      },
      onclosetag(name) {
        if (name === "w:t") isText = false;
        else if (name === "w:tbl") depth--;
        else if (name === "w:tc") line = `${line.trimEnd()}\t`;
        else if (name === "w:tr" || (name === "w:p" && depth === 0)) {
          collector.add(`${prefix}${line.trimEnd()}\n`);
          line = "";
          prefix = "";
        } else if (name === "w:p") line += " ";
        if (collector.isFull) parser.pause();
      },
    },
    { xmlMode: true },
  );
  parser.end(xml);
}

function headingMark(style: string | undefined): string | undefined {
  const level = /^(?:Heading|berschrift|Titre)(\d)$/i.exec(style ?? "")?.[1];
  if (level !== undefined) return `${"#".repeat(Number(level))} `;
  return style === "Title" ? "# " : undefined;
}
