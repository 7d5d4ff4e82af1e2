import type { AnswerPart } from "./answer-part.ts";
import type { AnswerReader } from "./stream-call.ts";

const OPENING = "<think>";
/** A partial tag at the end of a text, or a complete tag whose next character will show whether it is quoted. */
const UNFINISHED = /<\/?(?:t|th|thi|thin|think>?)?$/;
const CODE_FENCE = /^ {0,3}(?:```|~~~)/gm;
const EMPTY_LINE = /^[^\S\n]*\n[^\S\n]*\n/;
const QUOTES = ["`", "'", '"'];

/** A piece of an answer, split into text and reasoning. */
export interface SplitText {
  readonly thought: string;
  readonly text: string;
  /** Whether this piece reveals that all text before it was reasoning. */
  readonly wasThought?: boolean;
}

/**
 * Separates text from reasoning in an answer that starts with reasoning in `<think>` tags, as llama.cpp, vLLM and
 * Ollama send it without a parser for the model. If the server's template contains the opening tag, the answer has only
 * the closing one: at the start of a line or before an empty line, and outside code blocks. All other tags, such as
 * tags in a sentence or in quotes, are part of the answer.
 */
export function createThinkTagReader(): (
  piece: string,
  isLast: boolean,
  /** Whether the server sends the reasoning separately, so that a lone closing tag is part of the text. */
  isSeparate: boolean,
) => SplitText {
  const tags = /<(\/?)think>/g;
  let state: "beginning" | "thinking" | "between" | "saying" = "beginning";
  let held = "";
  let scanned = 0; // number of held characters that were searched for tags
  let before = ""; // the character before the held text
  let depth = 1; // nesting depth of tags
  let wasClosed = false; // some but not all tags were closed: the rest is the answer unless another tag follows
  let mayBeThought = true; // until the first tag, the text may turn out to be reasoning
  let shownText = ""; // the text that may turn out to be reasoning

  const release = (end: number): string => {
    const text = held.slice(0, end);
    before = text.at(-1) ?? before;
    held = held.slice(end);
    scanned = Math.max(0, scanned - end);
    return text;
  };
  const sureEnd = (isLast: boolean): number =>
    isLast ? held.length : (UNFINISHED.exec(held)?.index ?? held.length);
  /** Starts the text after the reasoning, without the empty lines between them. */
  const beginText = (text: string): string => {
    const start = text.trimStart();
    state = start === "" ? "between" : "saying";
    mayBeThought = false;
    held = "";
    return start;
  };
  const nextTag = (isLast: boolean) => {
    tags.lastIndex = scanned;
    for (let match = tags.exec(held); match !== null; match = tags.exec(held)) {
      const start = match.index;
      const end = tags.lastIndex;
      const quote = held[start - 1] ?? before;
      if (QUOTES.includes(quote)) {
        if (end === held.length && !isLast) return undefined;
        if (held[end] === quote) continue;
      }
      scanned = end;
      return { start, end, isClosing: match[1] === "/" };
    }
    return undefined;
  };

  const readReasoning = (isLast: boolean): SplitText => {
    let thought = "";
    for (let tag = nextTag(isLast); tag !== undefined; tag = nextTag(isLast)) {
      depth += tag.isClosing ? -1 : 1;
      if (depth === 0)
        return { thought: thought + held.slice(0, tag.start), text: beginText(held.slice(tag.end)) };
      if (tag.isClosing) thought += release(tag.end);
      wasClosed ||= tag.isClosing;
    }
    if (!wasClosed) return { thought: thought + release(sureEnd(isLast)), text: "" };
    return { thought, text: isLast ? beginText(held) : "" };
  };

  /** Whether a closing tag without an opening one ends the reasoning; undefined if that depends on the next piece. */
  const endsReasoning = (
    { start, end }: { readonly start: number; readonly end: number },
    isLast: boolean,
  ) => {
    const text = shownText + held.slice(0, start);
    const isInCode = (text.match(CODE_FENCE)?.length ?? 0) % 2 === 1;
    if (isInCode) return false;
    if (text === "" || text.endsWith("\n")) return true;
    const rest = held.slice(end);
    return !isLast && /^\s*$/.test(rest) && !EMPTY_LINE.test(rest) ? undefined : EMPTY_LINE.test(rest);
  };

  const readAnswer = (isLast: boolean): SplitText => {
    for (let tag = nextTag(isLast); tag !== undefined; tag = nextTag(isLast)) {
      if (!tag.isClosing) {
        mayBeThought = false;
        return { thought: "", text: release(held.length) };
      }
      const isEnd = endsReasoning(tag, isLast);
      if (isEnd)
        return { thought: held.slice(0, tag.start), text: beginText(held.slice(tag.end)), wasThought: true };
      if (isEnd === undefined) {
        scanned = tag.start;
        return { thought: "", text: releaseText(tag.start) };
      }
    }
    return { thought: "", text: releaseText(sureEnd(isLast)) };
  };
  const releaseText = (end: number): string => {
    const text = release(end);
    shownText += text;
    return text;
  };

  return (piece, isLast, isSeparate) => {
    held += piece;
    if (state === "between") return { thought: "", text: beginText(held) };
    if (state === "beginning") {
      const start = held.trimStart();
      if (!isLast && OPENING.startsWith(start) && start !== OPENING) return { thought: "", text: "" };
      state = start.startsWith(OPENING) ? "thinking" : "saying";
      if (state === "thinking") held = start.slice(OPENING.length);
    }
    if (state === "thinking") return readReasoning(isLast);
    return mayBeThought && !isSeparate ? readAnswer(isLast) : { thought: "", text: release(held.length) };
  };
}

/** Wraps a reader so that reasoning in think tags is separated from the text. */
export function withThinkTags(reader: AnswerReader): AnswerReader {
  const readTags = createThinkTagReader();
  let lastId = "";
  let hasSeparateThought = false;
  let hasTaggedThought = false;
  let hasText = false;

  const takeText = (id: string, piece: string, isLast: boolean): AnswerPart[] => {
    const { thought, text, wasThought = false } = readTags(piece, isLast, hasSeparateThought);
    hasTaggedThought ||= wasThought || thought !== "";
    hasText = (hasText && !wasThought) || text.trim() !== "";
    const parts: AnswerPart[] = wasThought ? [{ type: "text-was-reasoning", id }] : [];
    if (thought !== "") parts.push({ type: "reasoning-delta", id, delta: thought });
    if (text !== "") parts.push({ type: "text-delta", id, delta: text });
    return parts;
  };
  const read = (parts: readonly AnswerPart[]): readonly AnswerPart[] => {
    const separated = parts.flatMap((part) => {
      if (part.type === "reasoning-delta") hasSeparateThought ||= part.delta !== "";
      if (part.type !== "text-delta" || part.providerMetadata !== undefined) return [part];
      lastId = part.id;
      return takeText(part.id, part.delta, false);
    });
    return reader.finish() === undefined ? separated : [...separated, ...takeText(lastId, "", true)];
  };

  return {
    get isOver() {
      return reader.isOver;
    },
    get usage() {
      return reader.usage;
    },
    take: (data, event) => read(reader.take(data, event)),
    takeWhole(body) {
      const parts = reader.takeWhole(body);
      return parts && read(parts);
    },
    finish() {
      const end = reader.finish();
      // With separate reasoning, a server may put the answer into it; with tagged reasoning, the model gave no answer.
      const isTaggedOnly = hasTaggedThought && !hasSeparateThought && !hasText;
      return end && { ...end, reasoningIsNoAnswer: isTaggedOnly || (end.reasoningIsNoAnswer ?? false) };
    },
  };
}
