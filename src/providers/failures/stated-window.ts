/** Phrases of servers that state their context window in an error; the number is the window, not the size of the request. */
const PHRASES = [
  /maximum context length (?:is|of) (?:only )?(\d[\d,_]*)/i, // OpenAI, vLLM, OpenRouter
  /context length of (?:only )?(\d[\d,_]*)/i, // LM Studio
  /tokens? > (\d[\d,_]*) maximum/i, // Anthropic
  /maximum (?:prompt|input) length (?:is|of) (\d[\d,_]*)/i, // xAI
  /(?:available )?context (?:size|window) (?:is|of|\() ?(\d[\d,_]*)/i, // llama.cpp
  /"?n_ctx"?\s*[:=]\s*(\d[\d,_]*)/i,
  /model with (\d[\d,_]*) maximum context/i, // Mistral
  /(?:limit|maximum)(?: number)? of (\d[\d,_]*) (?:input )?tokens/i,
  /maximum number of tokens allowed \((\d[\d,_]*)\)/i, // Google
  /`inputs` tokens \+ `max_new_tokens` must be <= (\d[\d,_]*)/i, // TGI
  /token count of [\d,]+ exceeds the limit of (\d[\d,_]*)/i, // Copilot
];
const LEAST = 512;
const MOST = 100_000_000;

/** The context window that an error states; undefined if it states none. */
export function findStatedWindow(text: string): number | undefined {
  for (const phrase of PHRASES) {
    const tokens = Number(phrase.exec(text)?.[1]?.replace(/[,_]/g, ""));
    if (tokens >= LEAST && tokens <= MOST) return tokens;
  }
  return undefined;
}
