import { AppError } from "../lib/errors.ts";
import { findClosest } from "../lib/text/did-you-mean.ts";

/** The usage error for an unknown verb, for commands that also run without a verb and so receive the word. */
export function unknownVerb(command: string, word: string, verbs: readonly string[]): AppError {
  const near = findClosest(word, verbs);
  return new AppError("usage-wrong", `unknown command '${word}'`, {
    hint: near ? `Did you mean \`${command} ${near}\`?` : `See \`${command} --help\`.`,
  });
}
