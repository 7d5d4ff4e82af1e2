import { lexer, type Token, type Tokens } from "marked";

/** Longer text is shown as plain text, because its Markdown would take seconds to parse. */
const MAX_PARSED_CHARS = 300_000;
const SAFE_LINK = /^(?:https?:|mailto:|#)/i;

const ESCAPES: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};

/** Escapes text for HTML, also for quoted attributes. */
export function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => ESCAPES[character] ?? "");
}

/** Renders Markdown as HTML. Tags in the text are escaped; pictures and unsafe links become plain text. */
export function renderMarkdownAsHtml(text: string): string {
  if (text.length > MAX_PARSED_CHARS) return renderPlain(text);
  try {
    return renderBlocks(lexer(text));
  } catch (error) {
    if (error instanceof RangeError) return renderPlain(text); // nested too deeply
    throw error;
  }
}

export function renderPlain(text: string): string {
  return `<div class="plain">${escapeHtml(text)}</div>`;
}

function renderBlocks(tokens: readonly Token[]): string {
  return tokens.map(renderBlock).join("");
}

function renderBlock(token: Token): string {
  switch (token.type) {
    case "space":
    case "def":
      return "";
    case "hr":
      return "<hr>";
    case "heading": {
      const level = Math.min(6, (token as Tokens.Heading).depth + 2); // below the headings of the page
      return `<h${level}>${renderInline(token.tokens ?? [])}</h${level}>`;
    }
    case "paragraph":
      return `<p>${renderInline(token.tokens ?? [])}</p>`;
    case "code": {
      const { text, lang } = token as Tokens.Code;
      return `<pre${lang ? ` data-language="${escapeHtml(lang)}"` : ""}><code>${lang === "diff" ? renderDiff(text) : escapeHtml(text)}</code></pre>`;
    }
    case "blockquote":
      return `<blockquote>${renderBlocks(token.tokens ?? [])}</blockquote>`;
    case "list":
      return renderList(token as Tokens.List);
    case "table":
      return renderTable(token as Tokens.Table);
    case "text":
      return token.tokens === undefined ? escapeHtml(token["text"]) : renderInline(token.tokens);
    default:
      return renderInline([token]);
  }
}

function renderList({ ordered, start, items }: Tokens.List): string {
  const name = ordered ? "ol" : "ul";
  const first = ordered && typeof start === "number" && start !== 1 ? ` start="${start}"` : "";
  const rows = items.map((item) => `<li>${renderBlocks(item.tokens)}</li>`);
  return `<${name}${first}>${rows.join("")}</${name}>`;
}

function renderTable({ header, rows }: Tokens.Table): string {
  const row = (cells: readonly Tokens.TableCell[], name: string): string =>
    `<tr>${cells.map(({ tokens }) => `<${name}>${renderInline(tokens)}</${name}>`).join("")}</tr>`;
  return `<div class="wide"><table><thead>${row(header, "th")}</thead><tbody>${rows.map((cells) => row(cells, "td")).join("")}</tbody></table></div>`;
}

const INLINE_TAGS: Readonly<Record<string, string>> = { strong: "strong", em: "em", del: "del" };

function renderInline(tokens: readonly Token[]): string {
  return tokens
    .map((token) => {
      const tag = INLINE_TAGS[token.type];
      const inner = (): string => renderInline(("tokens" in token && token.tokens) || []);
      if (tag !== undefined) return `<${tag}>${inner()}</${tag}>`;
      switch (token.type) {
        case "codespan":
          return `<code>${escapeHtml(token["text"])}</code>`;
        case "br":
          return "<br>";
        case "checkbox":
          return token["checked"] ? "☑ " : "☐ ";
        case "link": {
          const { href } = token as Tokens.Link;
          if (!SAFE_LINK.test(href)) return inner();
          return `<a href="${escapeHtml(href)}" rel="noreferrer">${inner()}</a>`;
        }
        case "image":
          return escapeHtml(token.raw); // loading it would reveal to its server who reads the page
        case "escape":
          return escapeHtml(token["text"]);
        case "text":
          return token.tokens === undefined ? escapeHtml(unescapeEntities(token.raw)) : inner();
        default:
          return escapeHtml(token.raw);
      }
    })
    .join("");
}

const ENTITIES: Readonly<Record<string, string>> = { amp: "&", lt: "<", gt: ">", quot: '"', "#39": "'" };

/** Decodes entities, which Markdown may contain; otherwise their `&` would be escaped again. */
function unescapeEntities(text: string): string {
  return text.replace(/&(amp|lt|gt|quot|#39);/g, (_, name: string) => ENTITIES[name] ?? "");
}

/** Renders the lines of a diff, with a class for added, removed and other lines. */
export function renderDiff(text: string): string {
  return text
    .split("\n")
    .map((line) => {
      const kind = /^(?:\+\+\+|---|@@|diff |index )/.test(line)
        ? "meta"
        : line.startsWith("+")
          ? "added"
          : line.startsWith("-")
            ? "removed"
            : "same";
      return `<span class="${kind}">${escapeHtml(line)}</span>`;
    })
    .join("\n");
}
