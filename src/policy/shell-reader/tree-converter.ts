import type * as tree from "unbash";
import { forEachChild, type SyntaxNode } from "unbash";
import { LimitReached, MAX_DEPTH, type Meter } from "./meter.ts";
import {
  type Assignment,
  type Change,
  type Command,
  type CompoundCommand,
  type Evaluation,
  literalText,
  type Piece,
  type Pipeline,
  type Redirection,
  type Script,
  type Word,
} from "./syntax.ts";

type Body = tree.CompoundList | tree.ParsedScript | tree.CommandNode;

const COMPOUND_TYPES: Readonly<Record<tree.CompoundCommand["type"], CompoundCommand["type"]>> = {
  BraceGroup: "group",
  Subshell: "subshell",
  If: "branch",
  Case: "branch",
  While: "loop",
  For: "loop",
  Select: "loop",
  ArithmeticFor: "loop",
  ArithmeticCommand: "test",
  TestCommand: "test",
};
const EXPANSION = /\$[\w({]|`/;

/** Bash joins a name that is split by a backslash and a line end. The parser does not, so such a text is refused. */
export const SPLIT_NAME = "unexpected line end in a name";

/** Converts the parser's tree into our commands and words, and collects the errors of all its scripts. */
export class TreeConverter {
  readonly errors: string[] = [];
  readonly #parse: (text: string) => tree.ParsedScript;
  readonly #meter: Meter;

  constructor(parse: (text: string) => tree.ParsedScript, meter: Meter) {
    this.#parse = parse;
    this.#meter = meter;
  }

  read(text: string): Script {
    return this.#script(this.#parse(text));
  }

  #script(body: Body): Script {
    if (body.type === "Script") for (const { message } of body.errors ?? []) this.#fail(message);
    return this.#meter.within(() => {
      if (body.type !== "Script" && body.type !== "CompoundList")
        return { pipelines: [this.#pipeline(body, false, false)] };
      const pipelines = body.commands.flatMap(({ command, background = false }) =>
        (command.type === "AndOr" ? command.commands : [command]).map((part, index) =>
          this.#pipeline(part, background, index > 0),
        ),
      );
      return { pipelines };
    });
  }

  #fail(message: string): void {
    if (message.startsWith("maximum "))
      throw new LimitReached(`it nests constructs more than ${MAX_DEPTH} levels deep`);
    this.errors.push(message);
  }

  #pipeline(node: tree.PipelineNode, background: boolean, conditional: boolean): Pipeline {
    const commands = node.type === "Pipeline" ? node.commands : [node];
    return { stages: commands.map((command) => this.#command(command)), background, conditional };
  }

  #command(node: tree.CommandNode): Command {
    this.#meter.step();
    switch (node.type) {
      case "Command":
        return {
          kind: "simple",
          assignments: node.prefix.flatMap((item) =>
            item.type === "Assignment" ? [this.#assignment(item)] : [],
          ),
          words: this.#arguments(node),
          redirections: this.#redirections(node.redirects),
        };
      case "Redirected":
        return { ...this.#compound(node.command), redirections: this.#redirections(node.redirects) };
      case "Coproc":
        return compound("group", "", [], [this.#script(node.body)]);
      case "Function":
        return compound("function", this.#name(node.name), [], [this.#script(node.body)]);
      default:
        return this.#compound(node);
    }
  }

  #compound(node: tree.CompoundCommand): CompoundCommand {
    const { words, scripts } = this.#gather(node);
    const hasName = node.type === "For" || node.type === "Select";
    if (hasName) words.shift();
    // Plain POSIX shells have no arithmetic command and run its content as commands in two nested subshells.
    if (node.type === "ArithmeticCommand")
      scripts.push(new TreeConverter(this.#parse, this.#meter).read(node.body));
    return compound(COMPOUND_TYPES[node.type], hasName ? this.#name(node.name) : "", words, scripts);
  }

  /** Collects all words and scripts inside a node, in order. */
  #gather(node: SyntaxNode): { readonly words: Word[]; readonly scripts: Script[] } {
    const words: Word[] = [];
    const scripts: Script[] = [];
    const visit = (child: SyntaxNode): void => {
      this.#meter.step();
      if (child.type === "CompoundList") scripts.push(this.#script(child));
      else if (child.type === "Word") words.push(this.#word(child));
      else if (child.type === "ArithmeticWord")
        words.push(evaluated("arithmetic", child.value, this.#parts(child.parts ?? [], true)));
      else if (child.type === "ArithmeticCommandExpansion") {
        const script = this.#substituted(child);
        words.push(evaluated("arithmetic", child.text, [{ kind: "substitution", script, quoted: true }]));
      } else if (child.type === "ArithmeticBinary" && child.operator === "=" && isName(child.left)) {
        visit(child.right);
        words.push(evaluated("set", child.left.value, []));
      } else if (child.type === "TestBinary" && /^-(?:eq|ne|lt|le|gt|ge)$/.test(child.operator))
        for (const word of [child.left, child.right])
          words.push(evaluated("arithmetic", word.text, this.#word(word)));
      else if (child.type === "TestUnary" && /^-[vR]$/.test(child.operator))
        words.push(evaluated("name", child.operand.text, this.#word(child.operand)));
      else forEachChild(child, visit);
    };
    forEachChild(node, visit);
    return { words, scripts };
  }

  #name(word: tree.Word): string {
    return literalText(this.#word(word)) ?? "";
  }

  #assignment({ name, append = false, value, index }: tree.Assignment): Assignment {
    const words = value.type === "Word" ? [value] : value.elements;
    return {
      name,
      appends: append,
      isArray: value.type !== "Word",
      index: index ? this.#word(index) : [],
      indexText: index?.text ?? "",
      values: words.map((word) => this.#word(word)),
    };
  }

  /** The words of a command, beginning with the name of the program. */
  #arguments({ name, args }: tree.Command): Word[] {
    const words = name === undefined ? [] : [this.#word(name)];
    for (const item of args) {
      if (item.type === "Word") words.push(this.#word(item));
      else words.push(...this.#declaration(item));
    }
    return words;
  }

  /** The words of an assignment in the arguments; the elements of an array in `declare a=(b c)` become separate words. */
  #declaration(item: tree.Assignment): Word[] {
    const { name, appends, index, values } = this.#assignment(item);
    const head: Piece[] = [{ kind: "text", text: name, quoted: false }];
    if (item.index) head.push({ kind: "unknown", inner: index });
    head.push({ kind: "text", text: appends ? "+=" : "=", quoted: false });
    return item.value.type === "Word" ? [[...head, ...values.flat()]] : [head, ...values];
  }

  #redirections(nodes: readonly tree.Redirection[]): Redirection[] {
    return nodes.map((node) => {
      this.#meter.step();
      if (node.type === "HereDoc") return { operator: node.operator, target: this.#hereDocument(node) };
      return { operator: node.operator, target: node.target ? this.#word(node.target) : [] };
    });
  }

  #hereDocument({ operator, delimiter, body }: tree.HereDoc): Word {
    const strip = (text: string) => (operator === "<<-" ? text.replace(/^\t+/gm, "") : text);
    if (delimiter?.quoted) {
      // The parser reports an unclosed quote of the delimiter only if it parses the delimiter as a word.
      this.read(delimiter.text);
      return [{ kind: "text", text: strip(body.text), quoted: true }];
    }
    const parts = body.parts ?? [{ type: "Literal", text: body.text } as const];
    return parts.flatMap((part): readonly Piece[] => {
      if (part.type === "Literal")
        return [{ kind: "text", text: strip(part.text).replace(/\\(?:\n|([$`\\]))/g, "$1"), quoted: true }];
      // The parser reports unclosed expansions in double quotes but not in here-documents, so add quotes.
      const [pipeline] = this.#meter.within(() => this.read(`"${part.text}"`)).pipelines;
      const command = pipeline?.stages[0];
      return command?.kind === "simple" ? command.words.flat() : [];
    });
  }

  #word({ text, value, parts }: tree.Word, quoted = false): Word {
    this.#meter.step();
    return parts ? this.#parts(parts, quoted) : this.#literal(text, value, quoted);
  }

  #literal(text: string, value: string, quoted: boolean): Piece[] {
    // The parser leaves some expansions in the text that bash would run: in `a=($(b))c`, or in `$a` across two lines.
    if (EXPANSION.test(text) || text.includes("\\")) {
      if (EXPANSION.test(withoutEscapes(text, " "))) this.#fail("unexpected expansion");
      else if (EXPANSION.test(withoutEscapes(text, ""))) this.#fail(SPLIT_NAME);
    }
    return quoted ? [{ kind: "text", text: value, quoted }] : readUnquoted(text);
  }

  #parts(parts: readonly tree.WordPart[], quoted: boolean): Piece[] {
    return parts.flatMap((part, index) => {
      if (parts[index - 1]?.type === "SimpleExpansion" && /^\\\n\w/.test(part.text)) this.#fail(SPLIT_NAME);
      return this.#part(part, quoted);
    });
  }

  #part(part: tree.WordPart, quoted: boolean): readonly Piece[] {
    this.#meter.step();
    switch (part.type) {
      case "Literal":
        return this.#literal(part.text, part.value, quoted);
      case "SingleQuoted":
      case "AnsiCQuoted":
        return [{ kind: "text", text: part.value, quoted: true }];
      case "DoubleQuoted":
      case "LocaleString":
        // An empty pair of quotes still makes a word.
        return [{ kind: "text", text: "", quoted: true }, ...this.#parts(part.parts, true)];
      case "Glob":
      case "BraceExpansion": {
        const { text, parts } = part;
        if (!parts) return this.#literal(text, text, quoted);
        const mark = (at: number): Piece => ({ kind: "text", text: text.at(at) ?? "", quoted });
        return [mark(0), ...this.#parts(parts, quoted), mark(-1)];
      }
      case "ExtendedGlob": {
        const inner = this.#meter.within(() => this.#parts(part.parts ?? [], quoted));
        return [
          { kind: "text", text: part.operator, quoted },
          { kind: "unknown", inner },
        ];
      }
      case "SimpleExpansion":
        return [{ kind: "variable", name: part.text.slice(1), quoted, operator: "", operand: [] }];
      case "ParameterExpansion":
        return [this.#meter.within(() => this.#parameter(part, quoted))];
      case "ArithmeticExpansion":
        return part.expression
          ? [{ kind: "unknown", inner: this.#gather(part).words.flat() }]
          : evaluated("arithmetic", part.text.replace(/^\$(?:\(\(|\[)|(?:\)\)|\])$/g, ""), []);
      case "CommandExpansion":
        // The parser does not report an unclosed `${ command; }` of bash 5.3.
        if (part.text.startsWith("${") && !part.text.endsWith("}"))
          this.#fail("unterminated command substitution");
        return [{ kind: "substitution", script: this.#substituted(part), quoted }];
      case "ProcessSubstitution":
        return [{ kind: "process", script: this.#substituted(part) }];
    }
  }

  #substituted({ script }: { readonly script: tree.ParsedScript | undefined }): Script {
    // The parser returns no script for substitutions beyond its maximum nesting depth.
    if (!script) throw new LimitReached(`it nests constructs more than ${MAX_DEPTH} levels deep`);
    return this.#script(script);
  }

  #change(operation: tree.ParameterOperation | undefined, quoted: boolean): Change | undefined {
    switch (operation?.type) {
      case "Remove":
        return {
          type: "remove",
          operator: operation.operator,
          pattern: this.#word(operation.operand, quoted),
        };
      case "Replace":
        return {
          type: "replace",
          operator: operation.operator,
          pattern: this.#word(operation.pattern, quoted),
          replacement: this.#word(operation.replacement, quoted),
        };
      case "Slice":
        return { type: "slice", offset: operation.offset.text, length: operation.length?.text };
      case "CaseModification":
        return { type: "case", operator: operation.operator };
      case "Transform": {
        const operator = CASE_TRANSFORMS[operation.operand.text];
        return operator === undefined ? undefined : { type: "case", operator };
      }
      default:
        return undefined;
    }
  }

  #parameter(part: tree.ParameterExpansionPart, quoted: boolean): Piece {
    const { parameter, prefix, index, operation } = part;
    if (operation?.type === "Unknown")
      this.#fail(part.text.includes("\\\n") ? SPLIT_NAME : "bad substitution");
    if (prefix || index || (operation && operation.type !== "Default")) {
      const inner = [...this.#gather(part).words.flat(), ...evaluatedBy(part)];
      if (prefix === "#" || operation?.type === "Names" || operation?.type === "Default" || (prefix && index))
        return { kind: "unknown", inner };
      const change = this.#change(operation, quoted);
      const indirect = prefix === "!";
      return {
        kind: "parameter",
        name: parameter,
        quoted,
        indirect,
        index: index?.text ?? "",
        change,
        inner,
      };
    }
    const operator = operation?.operator.slice(-1) ?? "";
    return {
      kind: "variable",
      name: parameter,
      quoted,
      operator: operator === "" || operator === "+" || operator === "?" ? operator : "-",
      operand: operation ? this.#word(operation.operand, quoted) : [],
    };
  }
}

/** The operators that transform the case, as in `${a@U}`, and the equivalent ones such as `^^`. Others are taken to keep the value. */
const CASE_TRANSFORMS: Readonly<Record<string, string>> = { U: "^^", u: "^", L: ",," };

function isName(expression: tree.ArithmeticExpression): expression is tree.ArithmeticWord {
  return expression.type === "ArithmeticWord" && /^[A-Za-z_]\w*$/.test(expression.value);
}

function evaluated(as: Evaluation["as"], text: string, inner: Word): Piece[] {
  return [{ kind: "unknown", inner, evaluation: { as, text } }];
}

/** What the shell evaluates in `${a[…]}`, `${a:…:…}`, `${!a}` and `${a@P}`, besides substitutions. */
function evaluatedBy({ parameter, prefix, index, operation }: tree.ParameterExpansionPart): Piece[] {
  const pieces: Piece[] = [];
  if (index && !/^[@*]$/.test(index.text)) pieces.push(...evaluated("arithmetic", index.text, []));
  if (operation?.type === "Slice")
    for (const word of [operation.offset, operation.length])
      pieces.push(...evaluated("arithmetic", word?.text ?? "", []));
  if (operation?.type === "Transform" && /P/.test(operation.operand.text))
    pieces.push(...evaluated("prompt", parameter, []));
  if (prefix === "!" && !index && operation?.type !== "Names")
    pieces.push(...evaluated("name", `$${parameter}`, []));
  return pieces;
}

/** Replaces each escaped character by a space, and each escaped line end by `lineEnd`. */
function withoutEscapes(text: string, lineEnd: string): string {
  return text.replace(/\\([\s\S])/g, (_, escaped) => (escaped === "\n" ? lineEnd : " "));
}

/** Splits unquoted text into pieces; a backslash quotes the next character. */
function readUnquoted(text: string): Piece[] {
  if (text !== "" && !text.includes("\\")) return [{ kind: "text", text, quoted: false }];
  return (text.match(/\\[\s\S]?|[^\\]+/g) ?? []).flatMap((part): Piece[] => {
    if (!part.startsWith("\\")) return [{ kind: "text", text: part, quoted: false }];
    return part === "\\\n" ? [] : [{ kind: "text", text: part.slice(1) || "\\", quoted: true }];
  });
}

function compound(
  type: CompoundCommand["type"],
  name: string,
  words: readonly Word[],
  parts: readonly Script[],
): CompoundCommand {
  return { kind: "compound", type, name, words, parts, redirections: [] };
}
