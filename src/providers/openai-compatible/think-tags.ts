const OPENING = "<think>";
const CLOSING = "</think>";

/** What a piece of an answer says and thinks. */
export interface SaidAndThought {
  readonly thought: string;
  readonly text: string;
}

/**
 * Takes the reasoning out of an answer that begins with it in `<think>` tags, as servers pass it on that do not know
 * their model (llama.cpp, vLLM and Ollama without a parser for it). The same tag further on is what the model says.
 */
export function createThinkTagReader(): (piece: string, isLast: boolean) => SaidAndThought {
  let state: "beginning" | "thinking" | "between" | "saying" = "beginning";
  let held = "";
  /** The text behind the reasoning, without the empty lines between the two. */
  const begin = (text: string): string => {
    const start = text.trimStart();
    state = start === "" ? "between" : "saying";
    return start;
  };
  return (piece, isLast) => {
    if (state === "saying") return { thought: "", text: piece };
    if (state === "between") return { thought: "", text: begin(piece) };
    held += piece;
    if (state === "beginning") {
      const start = held.trimStart();
      if (!isLast && start.length < OPENING.length && OPENING.startsWith(start))
        return { thought: "", text: "" };
      if (!start.startsWith(OPENING)) {
        state = "saying";
        return { thought: "", text: held };
      }
      state = "thinking";
      held = start.slice(OPENING.length);
    }
    const end = held.indexOf(CLOSING);
    if (end !== -1) {
      return { thought: held.slice(0, end), text: begin(held.slice(end + CLOSING.length)) };
    }
    const sure = isLast ? held.length : held.length - beginningAtEnd(held, CLOSING);
    const thought = held.slice(0, sure);
    held = held.slice(sure);
    return { thought, text: "" };
  };
}

/** How many characters at the end of a text may be the beginning of a word. */
function beginningAtEnd(text: string, word: string): number {
  for (let length = Math.min(word.length - 1, text.length); length > 0; length--)
    if (word.startsWith(text.slice(-length))) return length;
  return 0;
}
