import { Lexer, type Token } from "marked";
import type { Colours } from "../../terminal/terminal.ts";
import type { Span } from "./wrap-spans.ts";

type Style = Span["style"];

/** Inline markdown (bold, italics, code, links) as styled text. */
export function inlineSpans(source: string, colours: Colours): Span[] {
  const plain: Style = (text) => text;
  return Lexer.lexInline(source).flatMap((token) => spansOf(token, plain, colours));
}

function spansOf(token: Token, style: Style, colours: Colours): Span[] {
  const within = (add: Style): Span[] =>
    ("tokens" in token ? (token.tokens ?? []) : []).flatMap((inner) =>
      spansOf(inner, (text) => add(style(text)), colours),
    );
  switch (token.type) {
    case "strong":
      return within(colours.bold);
    case "em":
      return within(colours.italic);
    case "del":
      return within(colours.strikethrough);
    case "codespan":
      return [{ text: token["text"], style: (text) => colours.cyan(style(text)) }];
    case "link": {
      const { href, text } = token as { href: string; text: string } & Token;
      const name = within(colours.underline);
      return href === text || href === `mailto:${text}`
        ? name
        : [...name, { text: ` (${href})`, style: colours.dim }];
    }
    case "escape":
      return [{ text: token["text"], style }];
    case "text":
      return "tokens" in token && token.tokens !== undefined
        ? within((text) => text)
        : [{ text: token["text"], style }];
    default:
      return [{ text: token.raw, style }]; // HTML, images and the like: as the model wrote them
  }
}

/**
 * Whether text that follows may still change how this text looks, because an emphasis, a code span or a link in it is open.
 */
export function hasOpenInline(source: string): boolean {
  const withoutCode = source.replace(/(`+)(?:(?!\1)[\s\S])*\1/g, "");
  if (withoutCode.includes("`")) return true;
  if ((withoutCode.match(/\*\*|__/g)?.length ?? 0) % 2 === 1) return true;
  if ((withoutCode.replace(/\*\*/g, "").match(/(?<![\w\s])\*|\*(?=\S)/g)?.length ?? 0) % 2 === 1) return true;
  if ((withoutCode.match(/~~/g)?.length ?? 0) % 2 === 1) return true;
  return /\[[^\]]*$|\]\([^)]*$/.test(withoutCode);
}
