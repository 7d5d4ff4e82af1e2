import { lexer, type Token, type Tokens } from "marked";
import { Children, createElement, memo, type ReactNode } from "react";
import styles from "./markdown.module.css";

/**
 * Markdown as React elements. No text becomes HTML: tags are shown as text and pictures as links, and only web and mail
 * addresses can be followed.
 */
export const Markdown = memo(function Markdown({ text }: { readonly text: string }) {
  return <div className={styles.prose}>{blocks(lexer(text, { gfm: true, breaks: false }))}</div>;
});

function blocks(tokens: readonly Token[]): ReactNode {
  // The index is a stable key, because the tokens of a text never move.
  return Children.toArray(tokens.map(block));
}

function block(token: Token): ReactNode {
  switch (token.type) {
    case "paragraph":
      return <p>{inlines(token.tokens)}</p>;
    case "heading":
      // The first two levels belong to the page and its sections.
      return createElement(
        `h${Math.min(6, (token as Tokens.Heading).depth + 2)}`,
        undefined,
        inlines(token.tokens),
      );
    case "code":
      return <Code {...(token as Tokens.Code)} />;
    case "blockquote":
      return <blockquote>{blocks(token.tokens ?? [])}</blockquote>;
    case "list":
      return <List {...(token as Tokens.List)} />;
    case "table":
      return <Table {...(token as Tokens.Table)} />;
    case "hr":
      return <hr />;
    case "text":
      return token.tokens ? inlines(token.tokens) : token.text;
    case "space":
    case "def":
      return null;
    case "html":
      return <p>{token.raw}</p>;
    default:
      return token.raw;
  }
}

function Code({ text, lang }: Tokens.Code) {
  return (
    <pre data-language={lang || undefined}>
      <code>{text}</code>
    </pre>
  );
}

function List({ ordered, start, items }: Tokens.List) {
  const rows = Children.toArray(items.map(listItem));
  return ordered ? <ol start={start === "" ? 1 : start}>{rows}</ol> : <ul>{rows}</ul>;
}

function listItem(item: Tokens.ListItem): ReactNode {
  return (
    <li className={item.task ? styles.task : undefined}>
      {item.task && <input type="checkbox" checked={item.checked ?? false} disabled aria-label={item.text} />}
      {blocks(item.tokens.filter(({ type }) => type !== "checkbox"))}
    </li>
  );
}

function Table({ header, rows }: Tokens.Table) {
  const cell = ({ tokens, align }: Tokens.TableCell, Cell: "th" | "td"): ReactNode => (
    <Cell style={{ textAlign: align ?? undefined }}>{inlines(tokens)}</Cell>
  );
  const row = (cells: readonly Tokens.TableCell[], name: "th" | "td"): ReactNode => (
    <tr>{Children.toArray(cells.map((each) => cell(each, name)))}</tr>
  );
  return (
    <div className={styles.table}>
      <table>
        <thead>{row(header, "th")}</thead>
        <tbody>{Children.toArray(rows.map((cells) => row(cells, "td")))}</tbody>
      </table>
    </div>
  );
}

function inlines(tokens: readonly Token[] = []): ReactNode {
  return Children.toArray(tokens.map(inline));
}

function inline(token: Token): ReactNode {
  switch (token.type) {
    case "strong":
      return <strong>{inlines(token.tokens)}</strong>;
    case "em":
      return <em>{inlines(token.tokens)}</em>;
    case "del":
      return <del>{inlines(token.tokens)}</del>;
    case "codespan":
      return <code>{token.text}</code>;
    case "br":
      return <br />;
    case "link":
      return <Link href={token.href}>{inlines(token.tokens)}</Link>;
    case "image":
      return <Link href={token.href}>{token.text || token.href}</Link>;
    case "text":
      return token.tokens ? inlines(token.tokens) : token.text;
    case "escape":
      return token.text;
    default:
      return token.raw;
  }
}

/** A link; an address that is unsafe to follow is shown as text after its label. */
function Link({ href, children }: { readonly href: string; readonly children: ReactNode }) {
  if (!isFollowable(href)) {
    return (
      <>
        {children} <span className="faint">({href})</span>
      </>
    );
  }
  return (
    <a href={href} target="_blank" rel="noreferrer noopener">
      {children}
    </a>
  );
}

function isFollowable(href: string): boolean {
  try {
    return ["http:", "https:", "mailto:"].includes(new URL(href).protocol);
  } catch {
    return false;
  }
}
