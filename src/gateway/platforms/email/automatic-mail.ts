import type { MailHeader } from "./authentication.ts";

/** Why a mail was written by a program and must not be answered; undefined for mail of a person. */
export function whyAutomatic(headers: readonly MailHeader[], from: string): string | undefined {
  const values = (key: string): string[] =>
    headers.filter((one) => one.key === key).map(({ value }) => value.trim());
  const has = (key: string): boolean => values(key).length > 0;
  if (values("auto-submitted").some((value) => !/^no\b/i.test(value)))
    return "it says that it was sent automatically";
  if (values("precedence").some((value) => /^(?:bulk|list|junk|auto_reply)\b/i.test(value)))
    return "it is bulk mail";
  if (["list-id", "list-post", "list-unsubscribe"].some(has)) return "it came through a mailing list";
  if (["x-autoreply", "x-autorespond", "x-auto-response-suppress", "x-loop"].some(has))
    return "it asks for no automatic answer";
  if (values("return-path").some((value) => value === "<>") || has("x-failed-recipients"))
    return "it is a bounce";
  if (values("content-type").some((value) => /^multipart\/report\b/i.test(value)))
    return "it is a report about mail";
  if (/^(?:mailer-daemon|postmaster|no-?reply|do-?not-?reply|bounces?)(?:[+-].*)?@/i.test(from))
    return "nobody reads answers at its address";
  return undefined;
}
