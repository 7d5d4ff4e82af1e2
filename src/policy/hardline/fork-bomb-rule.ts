import { type Command, type CompoundCommand, literalText, type Script } from "../shell-reader/syntax.ts";
import type { Refusal } from "./refusal.ts";

/** Refuses a function that starts several copies of itself at once, which exhausts the machine. */
export function checkForkBomb(definition: CompoundCommand): Refusal | undefined {
  if (definition.name === "" || !multiplies(definition)) return undefined;
  return {
    rule: "fork-bomb",
    effect: `start endless copies of the function ${definition.name} (a fork bomb)`,
    advice: "Use a loop with a fixed number of iterations, or `xargs -P` for parallel work.",
  };
}

function multiplies({ name, parts }: CompoundCommand): boolean {
  let background = 0;
  let calls = 0;
  let piped = false;
  const visit = (script: Script, inLoop: boolean, inBackground: boolean) => {
    for (const pipeline of script.pipelines) {
      const own = pipeline.stages.filter((stage) => isCall(stage, name)).length;
      const isApart = inBackground || pipeline.background;
      piped ||= own > 1;
      // A call with arguments may terminate, as a recursive walk over folders does.
      const bare = pipeline.stages.filter((stage) => isCall(stage, name) && stage.words.length === 1).length;
      calls += bare;
      if (isApart && bare > 0) background += inLoop ? 2 : 1;
      for (const stage of pipeline.stages)
        if (stage.kind === "compound" && stage.type !== "function")
          for (const part of stage.parts) visit(part, inLoop || stage.type === "loop", isApart);
    }
  };
  for (const part of parts) visit(part, false, false);
  return piped || (background > 0 && calls + background > 2);
}

function isCall(command: Command, name: string): boolean {
  const first = command.kind === "simple" ? command.words[0] : undefined;
  return first !== undefined && literalText(first) === name;
}
