import { Parser } from "htmlparser2";
import { type DocumentText, TextCollector, UnreadableDocument } from "./document-text.ts";
import { openZipArchive, type ZipArchive } from "./zip-archive.ts";

type Attributes = Readonly<Record<string, string>>;

const MAX_SHEETS = 200;
/** Empty cells between two values are shown as tabs; a wider gap is named instead. */
const MAX_GAP = 50;

/** Reads the values of a workbook, one line per row: `ROW: ` and the cells, separated by tabs. */
export function readWorkbook(bytes: Uint8Array): DocumentText {
  const archive = openZipArchive(bytes);
  const sheets = listSheets(archive);
  const strings = readStrings(archive.read("xl/sharedStrings.xml") ?? "");
  const isDate = readDateStyles(archive.read("xl/styles.xml") ?? "");
  const collector = new TextCollector();
  for (const [index, { name, path }] of sheets.slice(0, MAX_SHEETS).entries()) {
    collector.add(`--- sheet ${index + 1} of ${sheets.length}: ${name} ---\n`);
    addRows(archive.read(path) ?? "", { strings, isDate }, collector);
    collector.add("\n");
    if (collector.isFull) break;
  }
  const omitted =
    sheets.length > MAX_SHEETS ? [`sheets ${MAX_SHEETS + 1} to ${sheets.length} were not read`] : [];
  return collector.end(omitted);
}

function listSheets(archive: ZipArchive): readonly { readonly name: string; readonly path: string }[] {
  const book = archive.read("xl/workbook.xml");
  if (book === undefined)
    throw new UnreadableDocument("it has no workbook part, so it is not an Excel workbook");
  const targets = new Map<string, string>();
  parseXml(archive.read("xl/_rels/workbook.xml.rels") ?? "", {
    Relationship({ Id = "", Target = "" }) {
      targets.set(Id, Target.startsWith("/") ? Target.slice(1) : `xl/${Target}`);
    },
  });
  const sheets: { name: string; path: string }[] = [];
  parseXml(book, {
    sheet({ name = "", "r:id": id = "" }) {
      sheets.push({ name, path: targets.get(id) ?? `xl/worksheets/sheet${sheets.length + 1}.xml` });
    },
  });
  return sheets;
}

function readStrings(xml: string): readonly string[] {
  const strings: string[] = [];
  let current = "";
  parseXml(xml, {}, (name, text) => {
    if (name === "t") current += text;
    if (name !== "si") return;
    strings.push(current);
    current = "";
  });
  return strings;
}

/** Returns whether a cell style shows its number as a date. */
function readDateStyles(xml: string): (style: string | undefined) => boolean {
  const custom = new Set<string>();
  const formats: string[] = [];
  let isInCells = false;
  parseXml(
    xml,
    {
      numFmt({ numFmtId = "", formatCode = "" }) {
        if (/[ymdh]/i.test(formatCode.replace(/"[^"]*"|\[[^\]]*\]|\\./g, ""))) custom.add(numFmtId);
      },
      cellXfs() {
        isInCells = true;
      },
      xf({ numFmtId = "" }) {
        if (isInCells) formats.push(numFmtId);
      },
    },
    (name) => {
      if (name === "cellXfs") isInCells = false;
    },
  );
  return (style) => {
    const format = formats[Number(style)] ?? "";
    const number = Number(format);
    return custom.has(format) || (number >= 14 && number <= 22) || (number >= 45 && number <= 47);
  };
}

interface CellFacts {
  readonly strings: readonly string[];
  isDate(style: string | undefined): boolean;
}

function addRows(xml: string, facts: CellFacts, collector: TextCollector): void {
  let row = 0;
  let column = 0;
  let cells = "";
  let cell: Attributes = {};
  let value = "";
  let formula = "";
  parseXml(
    xml,
    {
      row({ r }) {
        row = r === undefined ? row + 1 : Number(r);
        column = 0;
        cells = "";
      },
      c(attributes) {
        cell = attributes;
        value = "";
        formula = "";
      },
    },
    (name, text) => {
      if (name === "v" || name === "t") value += text;
      else if (name === "f") formula = text;
      else if (name === "c") {
        const at = columnOf(cell["r"]) ?? column + 1;
        const gap = at - column;
        cells +=
          gap > MAX_GAP ? `\t[column ${at}]\t` : "\t".repeat(Math.max(column === 0 ? gap - 1 : gap, 0));
        cells += showValue(cell, value, formula, facts).replace(/[\t\r\n]+/g, " ");
        column = at;
      } else if (name === "row" && cells.trim() !== "") collector.add(`${row}: ${cells}\n`);
    },
    () => collector.isFull,
  );
}

function showValue(
  { t: type, s: style }: Attributes,
  value: string,
  formula: string,
  facts: CellFacts,
): string {
  if (type === "s") return facts.strings[Number(value)] ?? "";
  if (type === "b") return value === "1" ? "TRUE" : "FALSE";
  if (value === "" && formula !== "") return `=${formula}`;
  const isNumber = type === undefined || type === "n";
  return isNumber && value !== "" && facts.isDate(style) ? showDate(Number(value)) : value;
}

/** Excel counts days from 1899-12-30. */
function showDate(days: number): string {
  const date = new Date(Math.round((days - 25_569) * 86_400) * 1_000);
  if (Number.isNaN(date.getTime())) return `${days}`;
  const text = date.toISOString();
  return Number.isInteger(days) ? text.slice(0, 10) : text.slice(days < 1 ? 11 : 0, 19).replace("T", " ");
}

/** The number of the column in a reference such as `AB12`. */
function columnOf(reference: string | undefined): number | undefined {
  const letters = /^[A-Z]{1,3}/.exec(reference ?? "")?.[0];
  if (letters === undefined) return undefined;
  return [...letters].reduce((sum, letter) => sum * 26 + letter.charCodeAt(0) - 64, 0);
}

/** Calls a handler at each opening tag, and `onClose` with the text since that tag. Stops as soon as `isDone` returns true. */
function parseXml(
  xml: string,
  onOpen: Readonly<Record<string, (attributes: Attributes) => void>>,
  onClose: (name: string, text: string) => void = () => undefined,
  isDone: () => boolean = () => false,
): void {
  let text = "";
  const parser = new Parser(
    {
      onopentag(name, attributes) {
        text = "";
        if (Object.hasOwn(onOpen, name)) onOpen[name]?.(attributes);
      },
      ontext(more) {
        text += more;
      },
      onclosetag(name) {
        onClose(name, text);
        text = "";
        if (isDone()) parser.pause();
      },
    },
    { xmlMode: true },
  );
  parser.end(xml);
}
