import { nameOf } from "../invocation.ts";
import type { Meter } from "../meter.ts";
import type { Scope } from "../scope.ts";
import type { Command, Redirection, Script, Word } from "../syntax.ts";
import { evaluateOutput } from "./evaluate-output.ts";
import { type Expander, type Expansion, expandWord } from "./expand-word.ts";

/** Determines what words expand to and what commands print, as far as that is possible without running anything. */
export class StaticEvaluator {
  readonly #meter: Meter;

  constructor(meter: Meter) {
    this.#meter = meter;
  }

  expand(words: readonly Word[], scope: Scope): Expansion {
    const expander: Expander = {
      scope,
      meter: this.#meter,
      printedBy: (script) => this.printedBy(script, scope),
    };
    const fields: string[] = [];
    let isCut = false;
    for (const word of words) {
      const expansion = expandWord(word, expander);
      for (const field of expansion.fields) fields.push(field);
      isCut ||= expansion.isCut;
    }
    this.#meter.step(fields.length);
    return { fields, isCut };
  }

  /** The text of the last here-document or here-string. */
  inputOf(redirections: readonly Redirection[], scope: Scope): string | undefined {
    const last = redirections.findLast(({ operator }) => operator.startsWith("<<"));
    return last && this.expand([last.target], scope).fields.join(" ");
  }

  /** The known output of a script; undefined if none of it is known. */
  printedBy(script: Script, scope: Scope): string | undefined {
    const texts: string[] = [];
    for (const { stages } of script.pipelines) {
      let text: string | undefined;
      for (const stage of stages) text = this.printedByCommand(stage, scope, text);
      if (text !== undefined) texts.push(text);
    }
    return texts.length > 0 ? texts.join("") : undefined;
  }

  printedByCommand(command: Command, scope: Scope, input: string | undefined): string | undefined {
    return this.#meter.within(() => {
      if (command.kind === "compound") {
        if (command.type === "function") return undefined;
        const texts = command.parts
          .map((part) => this.printedBy(part, scope))
          .filter((text) => text !== undefined);
        return texts.length > 0 ? texts.join("") : undefined;
      }
      const [program, ...args] = this.expand(command.words, scope).fields;
      if (program === "pwd") return scope.cwd;
      if (program === "whoami" || (program === "id" && args[0] === "-un")) return scope.valuesOf("USER")?.[0];
      if (program === undefined) return undefined;
      return evaluateOutput(nameOf(program), args, this.inputOf(command.redirections, scope) ?? input);
    });
  }
}
