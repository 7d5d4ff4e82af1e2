/** Above a copy of the mail that is answered. */
const ORIGINAL = /^-{2,}\s*(?:original message|ursprüngliche nachricht|message d'origine)\s*-{2,}$/i;
/** The first of two lines such as "On Monday, Anna <anna@example.org>" and "wrote:". */
const INTRODUCTION = /^(?:on|am|le|el|il|em|op|den)\b.*\d/i;

/**
 * What a mail adds to its thread: the text without a copy of the mail that it answers, and without the signature. A quotation
 * that is followed by words of its own stays.
 */
export function stripQuotedText(text: string): string {
  const lines = text.replaceAll("\r\n", "\n").split("\n");
  const signature = lines.lastIndexOf("-- ");
  const original = lines.findIndex((line) => ORIGINAL.test(line.trim()));
  const cuts = [signature, original].filter((line) => line > 0);
  const body = lines.slice(0, Math.min(lines.length, ...cuts));
  let end = body.length;
  const isQuotation = (line: string | undefined): boolean => line?.startsWith(">") === true;
  const isBlank = (line: string | undefined): boolean => line?.trim() === "";
  while (end > 0 && (isBlank(body[end - 1]) || isQuotation(body[end - 1]))) end--;
  if (body.slice(end).some(isQuotation) && body[end - 1]?.trimEnd().endsWith(":")) {
    end--;
    if (INTRODUCTION.test(body[end - 1] ?? "")) end--;
  }
  const words = body.slice(0, end).join("\n").trim();
  return words === "" ? text.replaceAll("\r\n", "\n").trim() : words;
}
