import { closest } from "../lib/did-you-mean.ts";
import { AppError } from "../lib/errors.ts";

/** The mistake of a word that is no verb of a command; such words reach a command that also does something by itself. */
export function unknownVerb(command: string, word: string, verbs: readonly string[]): AppError {
  const near = closest(word, verbs);
  return new AppError("usage-wrong", `unknown command '${word}'`, {
    hint: near ? `Did you mean \`${command} ${near}\`?` : `See \`${command} --help\`.`,
  });
}
