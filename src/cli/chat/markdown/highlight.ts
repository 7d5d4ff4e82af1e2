import type { HLJSApi, LanguageFn } from "highlight.js";
import type { Colours } from "../../terminal/terminal.ts";

type ColourName = "cyan" | "green" | "magenta" | "yellow" | "blue" | "dim";

/** Classes of highlight.js and our colours; other classes stay uncoloured. */
const STYLES: Readonly<Record<string, ColourName>> = {
  keyword: "magenta",
  built_in: "cyan",
  type: "cyan",
  literal: "yellow",
  number: "yellow",
  string: "green",
  regexp: "green",
  comment: "dim",
  meta: "dim",
  title: "blue",
  attr: "blue",
  attribute: "blue",
  section: "blue",
  addition: "green",
  deletion: "magenta",
};

const LANGUAGES: Readonly<Record<string, () => Promise<{ readonly default: LanguageFn }>>> = {
  bash: () => import("highlight.js/lib/languages/bash"),
  css: () => import("highlight.js/lib/languages/css"),
  diff: () => import("highlight.js/lib/languages/diff"),
  go: () => import("highlight.js/lib/languages/go"),
  java: () => import("highlight.js/lib/languages/java"),
  javascript: () => import("highlight.js/lib/languages/javascript"),
  json: () => import("highlight.js/lib/languages/json"),
  python: () => import("highlight.js/lib/languages/python"),
  rust: () => import("highlight.js/lib/languages/rust"),
  sql: () => import("highlight.js/lib/languages/sql"),
  typescript: () => import("highlight.js/lib/languages/typescript"),
  xml: () => import("highlight.js/lib/languages/xml"),
  yaml: () => import("highlight.js/lib/languages/yaml"),
};

const ALIASES: Readonly<Record<string, string>> = {
  sh: "bash",
  shell: "bash",
  console: "bash",
  zsh: "bash",
  js: "javascript",
  jsx: "javascript",
  mjs: "javascript",
  ts: "typescript",
  tsx: "typescript",
  py: "python",
  rs: "rust",
  golang: "go",
  html: "xml",
  svg: "xml",
  yml: "yaml",
  patch: "diff",
  jsonc: "json",
  postgresql: "sql",
};

/**
 * Colours code line by line. The library and a language are loaded at the first line that needs them; lines before that
 * stay uncoloured, because a line on the screen is final.
 */
export function createHighlighter(colours: Colours): (line: string, language: string) => string {
  let library: HLJSApi | undefined;
  const ready = new Set<string>();
  const asked = new Set<string>();

  async function load(name: string): Promise<void> {
    const [core, language] = await Promise.all([import("highlight.js/lib/core"), LANGUAGES[name]?.()]);
    library = core.default;
    if (language === undefined) return;
    library.registerLanguage(name, language.default);
    ready.add(name);
  }

  return (line, language) => {
    const name = ALIASES[language] ?? language;
    if (!colours.isColorSupported || !(name in LANGUAGES) || line.trim() === "") return line;
    if (!asked.has(name)) {
      asked.add(name);
      load(name).catch(() => undefined); // code stays readable without colours
    }
    if (library === undefined || !ready.has(name)) return line;
    return toColours(library.highlight(line, { language: name, ignoreIllegals: true }).value, colours);
  };
}

/** Translates the HTML of the library, which contains only spans and escaped characters. */
function toColours(html: string, colours: Colours): string {
  let text = "";
  const open: (ColourName | undefined)[] = [];
  for (const piece of html.split(/(<span class="[^"]*">|<\/span>)/)) {
    const opened = /^<span class="hljs-([\w]+)[^"]*">$/.exec(piece);
    if (opened !== null) open.push(STYLES[opened[1] ?? ""]);
    else if (piece === "</span>") open.pop();
    else if (piece.startsWith("<span")) open.push(undefined);
    else {
      const style = open.findLast((one) => one !== undefined);
      const plain = decodeEntities(piece);
      text += style === undefined || plain === "" ? plain : colours[style](plain);
    }
  }
  return text;
}

function decodeEntities(html: string): string {
  return html
    .replaceAll("&lt;", "<")
    .replaceAll("&gt;", ">")
    .replaceAll("&quot;", '"')
    .replaceAll("&#x27;", "'")
    .replaceAll("&amp;", "&");
}
