const OPENING = "<think>";
/** The beginning of a tag at the end of a text, or a tag of which the next character tells whether it is quoted. */
const UNFINISHED = /<\/?(?:t|th|thi|thin|think>?)?$/;
const QUOTES = ["`", "'", '"'];

/** What a piece of an answer says and thinks. */
export interface SaidAndThought {
  readonly thought: string;
  readonly text: string;
  /** Everything that was said before this piece turns out to have been thought. */
  readonly wasThought?: boolean;
}

/**
 * Takes the reasoning out of an answer that begins with it in `<think>` tags, as servers pass it on that do not know
 * their model (llama.cpp, vLLM and Ollama without a parser for it). Where the server's template has already written the
 * opening tag, the closing one alone tells. Tags in quotes, and later ones, are what the model says.
 */
export function createThinkTagReader(): (
  piece: string,
  isLast: boolean,
  /** The server hands over the reasoning in another way, so that a closing tag alone ends none. */
  isSeparate: boolean,
) => SaidAndThought {
  const tags = /<(\/?)think>/g;
  let state: "beginning" | "thinking" | "between" | "saying" = "beginning";
  let held = "";
  let scanned = 0; // of what is held
  let before = ""; // the character in front of it
  let depth = 1; // of tags within tags
  let wasClosed = false; // by fewer tags than were opened: what follows is the answer if no other tag comes
  let mayBeThought = true; // what is said, as long as there was no tag

  const release = (end: number): string => {
    const text = held.slice(0, end);
    before = text.at(-1) ?? before;
    held = held.slice(end);
    scanned = Math.max(0, scanned - end);
    return text;
  };
  const releaseSure = (isLast: boolean): string =>
    release(isLast ? held.length : (UNFINISHED.exec(held)?.index ?? held.length));
  /** The text behind the reasoning, without the empty lines between the two. */
  const begin = (text: string): string => {
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

  const think = (isLast: boolean): SaidAndThought => {
    let thought = "";
    for (let tag = nextTag(isLast); tag !== undefined; tag = nextTag(isLast)) {
      depth += tag.isClosing ? -1 : 1;
      if (depth === 0)
        return { thought: thought + held.slice(0, tag.start), text: begin(held.slice(tag.end)) };
      if (tag.isClosing) thought += release(tag.end);
      wasClosed ||= tag.isClosing;
    }
    if (!wasClosed) return { thought: thought + releaseSure(isLast), text: "" };
    return { thought, text: isLast ? begin(held) : "" };
  };

  const say = (isLast: boolean): SaidAndThought => {
    const tag = nextTag(isLast);
    if (tag === undefined) return { thought: "", text: releaseSure(isLast) };
    mayBeThought = false;
    if (!tag.isClosing) return { thought: "", text: release(held.length) };
    return { thought: held.slice(0, tag.start), text: begin(held.slice(tag.end)), wasThought: true };
  };

  return (piece, isLast, isSeparate) => {
    held += piece;
    if (state === "between") return { thought: "", text: begin(held) };
    if (state === "beginning") {
      const start = held.trimStart();
      if (!isLast && OPENING.startsWith(start) && start !== OPENING) return { thought: "", text: "" };
      state = start.startsWith(OPENING) ? "thinking" : "saying";
      if (state === "thinking") held = start.slice(OPENING.length);
    }
    if (state === "thinking") return think(isLast);
    return mayBeThought && !isSeparate ? say(isLast) : { thought: "", text: release(held.length) };
  };
}
