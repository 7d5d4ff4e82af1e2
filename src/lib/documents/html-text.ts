import { Parser } from "htmlparser2";
import { type DocumentText, TextCollector } from "./document-text.ts";

const HIDDEN = new Set([
  "script",
  "style",
  "noscript",
  "template",
  "svg",
  "head",
  "iframe",
  "object",
  "select",
]);
const BLOCKS = new Set(
  "address article aside blockquote dd div dl dt fieldset figcaption figure footer form h1 h2 h3 h4 h5 h6 header hr li main nav ol p pre section table tr ul br".split(
    " ",
  ),
);
const MAX_LINK_CHARS = 500;

/** The readable text of a web page, with headings, lists and links in the style of Markdown. */
export function readHtml(html: string, base: string): DocumentText {
  const lines: string[] = [];
  let line = "";
  let title = "";
  let isTitle = false;
  let hidden = 0;
  let kept = 0; // depth of elements in which line breaks count
  const links: string[] = [];
  const isAtStart = (): boolean => line === "" || line.endsWith("\n");
  const startLine = (prefix = ""): void => {
    lines.push(line.trimEnd());
    line = prefix;
  };
  const parser = new Parser({
    onopentag(name, attributes) {
      if (name === "title") isTitle = title === "";
      if (HIDDEN.has(name)) hidden++;
      if (hidden > 0) return;
      if (name === "pre") kept++;
      if (name === "a") links.push(resolveLink(attributes["href"], base));
      if ((name === "td" || name === "th") && !isAtStart()) line += "\t";
      if (BLOCKS.has(name)) startLine(prefixOf(name));
    },
    ontext(more) {
      if (isTitle) title += more;
      if (hidden > 0) return;
      const words = more.replace(/\s+/g, " ");
      line += kept > 0 ? more : isAtStart() ? words.trimStart() : words;
    },
    onclosetag(name) {
      if (name === "title") isTitle = false;
      if (HIDDEN.has(name)) hidden--;
      if (hidden > 0) return;
      if (name === "pre") kept--;
      if (name === "a") line += links.pop() ?? "";
      if (BLOCKS.has(name)) startLine();
    },
  });
  parser.end(html);
  const body = [...lines, line]
    .join("\n")
    .replace(/(?<![ \t])[ \t]+$/gm, "")
    .replace(/\n{3,}/g, "\n\n")
    .trim();
  const text = new TextCollector();
  if (title.trim() !== "") text.add(`${title.trim().replace(/\s+/g, " ")}\n\n`);
  text.add(body);
  return text.end();
}

function prefixOf(name: string): string {
  const level = /^h([1-6])$/.exec(name)?.[1];
  if (level !== undefined) return `\n${"#".repeat(Number(level))} `;
  return name === "li" ? "- " : name === "p" ? "\n" : "";
}

function resolveLink(href: string | undefined, base: string): string {
  if (href === undefined || href.startsWith("#") || !URL.canParse(href, base)) return "";
  const { href: address, protocol } = new URL(href, base);
  return /^https?:$/.test(protocol) && address.length <= MAX_LINK_CHARS ? ` (${address})` : "";
}
