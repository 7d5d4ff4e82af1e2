/** The model's window is too small, in the words of the vendors whose status and code do not say so. */
export const TOO_LONG = [
  /context_length_exceeded|model_context_window_exceeded|exceed_context_size/i,
  /maximum context length|maximum prompt length|maximum number of tokens/i,
  /prompt is too long|input is too long|input length (?:and|exceeds)/i,
  /exceeds? (?:the |this )?(?:\w+ )?(?:available |maximum |model's )?context (?:size|length|window)/i,
  /context window (?:exceeds|is exceeded)|exceeded model token limit/i,
  /greater than the context length|reduce the length of the messages/i,
  /context the overflows|context overflow|reached context length|context length of only/i, // LM Studio
  /`inputs` tokens \+ `max_new_tokens` must be|`inputs` must have less than/i, // TGI, and Together on it
  /longer than the model's (?:maximum )?context length|range of input length should be/i, // SGLang, Alibaba
  /prompt token count of \d+ exceeds|model_max_prompt_tokens_exceeded/i, // Copilot
  /prompt exceeds max length|\b1261\b|prompt 超长|tokens in request more than max tokens/i, // Z.ai
  /context window limit|too many (?:input )?tokens|too large for model with \d+ maximum context/i, // Cloudflare, Cohere, Mistral
];

/** Money or a plan is used up, which waiting a minute does not change. */
export const QUOTA = [
  /insufficient_quota|billing_error|billing_hard_limit|payment required/i,
  /insufficient (?:balance|credits?|funds)|credit balance is too low|out of credits|no credits/i,
  /usage[ _]limit|spending limit|(?:daily|weekly|monthly) (?:\w+ )?(?:limit|quota)|per-day/i,
  /exceeded your current quota|quota (?:has been )?(?:exceeded|exhausted)|(?:current|your) plan|upgrade/i,
];

/** Said of an ordinary limit per minute too, together with the seconds to wait. */
export const QUOTA_OR_RATE = /exceeded your current quota/i;

/** The key is wrong, said with status 400. */
export const BAD_KEY =
  /api key not valid|incorrect api key|invalid (?:api|x-api)[ -]key|invalid_api_key|API_KEY_INVALID/i;

/** There is no such model, said with status 400. */
export const NO_MODEL =
  /model_not_found|not a valid model|model not exist|model .{0,80}(?:does not exist|not found)|unknown model/i;

export function saysAny(text: string, wordings: readonly RegExp[]): boolean {
  return wordings.some((wording) => wording.test(text));
}
