import { AppError } from "../lib/errors.ts";
import { findClosest } from "../lib/text/did-you-mean.ts";

/** The usage error for an unknown verb. Needed where commander takes the word as an argument, because the verb is optional. */
export function unknownVerb(command: string, word: string, verbs: readonly string[]): AppError {
  const near = findClosest(word, verbs);
  return new AppError("usage-wrong", `unknown command '${word}'`, {
    hint: near ? `Did you mean \`${command} ${near}\`?` : `See \`${command} --help\`.`,
  });
}
