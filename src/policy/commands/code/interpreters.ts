export type CodeLanguage = "python" | "javascript" | "perl" | "ruby" | "php";

/** Where an interpreter reads its program from. */
export type CodeSource =
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "input" }
  | { readonly kind: "file"; readonly path: string }
  | { readonly kind: "none" };

interface Interpreter {
  readonly language: CodeLanguage;
  /** Options whose value is code. A short one may end a group of options. */
  readonly code: RegExp;
  /** Options that take the next argument as their value. */
  readonly valued: RegExp;
  /** Options with which it runs a module or prints something instead of reading a program. */
  readonly other: RegExp;
}

const INTERPRETERS: readonly (readonly [RegExp, Interpreter])[] = [
  [
    /^(?:python|pypy)[\d.]*$/,
    {
      language: "python",
      code: /^-[bBdEiIOPqsSuvx]*c$/,
      valued: /^-[WX]$/,
      other: /^(?:-m.*|-V+|-h|--version|--help)$/,
    },
  ],
  [
    /^(?:node|nodejs|bun|tsx|ts-node|deno)$/,
    {
      language: "javascript",
      code: /^(?:-p?e|-p|-pe|--eval|--print|eval)$/,
      valued: /^(?:-r|--require|--import|--loader|-C|--conditions)$/,
      other: /^(?:-v|--version|-h|--help|--check|-c|test|--test|install|add|x|fmt|lint|i|build|create|run)$/,
    },
  ],
  [
    /^perl[\d.]*$/,
    {
      language: "perl",
      code: /^-[a-df-zA-DF-Z0-9]*[eE]$/,
      valued: /^-[I]$/,
      other: /^(?:-v|-V.*|--version|-h|--help)$/,
    },
  ],
  [
    /^j?ruby[\d.]*$/,
    {
      language: "ruby",
      code: /^-[a-df-zA-Z0-9]*e$/,
      valued: /^-[IrCE]$/,
      other: /^(?:-v|--version|-h|--help)$/,
    },
  ],
  [
    /^php[\d.]*$/,
    {
      language: "php",
      code: /^(?:-r|--run|-R|-B|-E)$/,
      valued: /^-[dczt]$/,
      other: /^(?:-v|-i|-m|-l|-S|--version|-h|--help|--ini)$/,
    },
  ],
];

const ANY_INTERPRETER = new RegExp(INTERPRETERS.map(([pattern]) => pattern.source).join("|"));

/** The interpreter with this name, if its inline code can be inspected. */
export function findInterpreter(name: string): Interpreter | undefined {
  if (!ANY_INTERPRETER.test(name)) return undefined;
  return INTERPRETERS.find(([pattern]) => pattern.test(name))?.[1];
}

/** Determines where an interpreter reads its program from. */
export function codeSourceOf(args: readonly string[], interpreter: Interpreter): CodeSource {
  const texts: string[] = [];
  for (let at = 0; at < args.length; at += 1) {
    const word = args[at] ?? "";
    const [head = "", value] = /^--(?:eval|print)=/.test(word) ? splitOnce(word) : [word];
    if (interpreter.code.test(head)) {
      texts.push(value ?? args[at + 1] ?? "");
      at += value === undefined ? 1 : 0;
    } else if (texts.length > 0 && !word.startsWith("-")) break;
    else if (interpreter.other.test(word)) return { kind: "none" };
    else if (interpreter.valued.test(word)) at += 1;
    else if (word === "-" || word === "/dev/stdin") return { kind: "input" };
    else if (!word.startsWith("-")) return { kind: "file", path: word };
    else if (
      interpreter.language !== "javascript" &&
      /^-[a-zA-Z]*c./.test(word) &&
      interpreter.language === "python"
    )
      texts.push(word.slice(word.indexOf("c") + 1));
  }
  return texts.length > 0 ? { kind: "text", text: texts.join("\n") } : { kind: "input" };
}

function splitOnce(word: string): readonly [string, string] {
  const at = word.indexOf("=");
  return [word.slice(0, at), word.slice(at + 1)];
}
