/** A reference in a message of a person, such as `@file:src/main.ts:1-20`. */
export type Reference = { readonly source: string } & (
  | {
      readonly kind: "file";
      readonly path: string;
      readonly lines: { readonly from: number; readonly to: number } | undefined;
      /** Written as `@PATH`, which is a reference only if that file exists. */
      readonly isBare: boolean;
    }
  | { readonly kind: "folder"; readonly path: string; readonly isBare: boolean }
  | { readonly kind: "url"; readonly address: string }
  | { readonly kind: "git"; readonly count: number }
  | { readonly kind: "diff" | "staged" }
);

const CODE = /```[\s\S]*?(?:```|$)|`[^`\n]*`/g;
/** Not after a word, so that mail addresses are not references, and not after a backslash, which keeps the text as it is. */
const REFERENCE =
  /(?<![\w@\\/.:-])@(?:(file|folder|url|git):(?:"([^"\n]+)"|([^\s"'`<>]+))|(diff|staged)(?![\w:/.-])|"([^"\n]+)"|([\w~./][^\s"'`<>,;]*))/g;
const PUNCTUATION = /[.,;:!?)\]}]+$/;

/** Finds the references in a message, each once, outside of code. */
export function findReferences(text: string): readonly Reference[] {
  const prose = text.replace(CODE, (code) => " ".repeat(code.length));
  const found = new Map<string, Reference>();
  for (const [, kind, quoted, plain = "", word, quotedPath, path = ""] of prose.matchAll(REFERENCE)) {
    const value = quoted ?? quotedPath ?? withoutPunctuation(kind === undefined ? path : plain);
    const reference = createReference(kind ?? word, value);
    if (reference !== undefined) found.set(reference.source, reference);
  }
  return [...found.values()];
}

/** `.` and `..` at the end of a path are folders, not the end of a sentence. */
function withoutPunctuation(written: string): string {
  return /(?:^|\/)\.{1,2}$/.test(written) ? written : written.replace(PUNCTUATION, "");
}

function createReference(kind: string | undefined, value: string): Reference | undefined {
  switch (kind) {
    case "diff":
    case "staged":
      return { kind, source: `@${kind}` };
    case "url":
      return { kind, address: value, source: `@url:${value}` };
    case "git":
      return { kind, count: Number(value), source: `@git:${value}` };
    case "folder":
      return { kind, path: value, isBare: false, source: `@folder:${value}` };
    default: {
      if (value === "") return undefined;
      const isBare = kind === undefined;
      const source = `@${isBare ? "" : "file:"}${value}`;
      if (isBare && value.endsWith("/")) return { kind: "folder", path: value, isBare, source };
      const [, path = value, from, to = from] = /^(.+?):(\d+)(?:-(\d+))?$/.exec(value) ?? [];
      const lines = from === undefined ? undefined : { from: Number(from), to: Number(to) };
      return { kind: "file", path, lines, isBare, source };
    }
  }
}
