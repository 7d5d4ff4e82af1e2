/** Stands in an expanded field for text that only the running shell knows. */
export const UNKNOWN = "\uFFFC";
/** Stands for the home while nobody knows its path. */
export const UNNAMED_HOME = `/home/${UNKNOWN}`;

const MAX_VALUES = 256;
/** Longer values, folders included, are as good as unknown; without a bound they could double at every step. */
export const MAX_VALUE_LENGTH = 4_096;

/** What is known about variables and the working folder at one point of a script; a subshell gets a child. */
export class Scope {
  readonly #parent: Scope | undefined;
  readonly #variables = new Map<string, readonly string[]>();
  /** Absolute, or undefined while nobody can tell. */
  cwd: string | undefined;

  constructor(parent?: Scope) {
    this.#parent = parent;
    this.cwd = parent?.cwd;
  }

  /** The values a variable may have here; undefined when nothing is known of it. */
  valuesOf(name: string): readonly string[] | undefined {
    if (name === "PWD") return this.cwd === undefined ? undefined : [this.cwd];
    return this.#variables.get(name) ?? this.#parent?.valuesOf(name);
  }

  /** Sets a variable; where it is not certain that the assignment runs, earlier values stay possible behind it. */
  assign(name: string, values: readonly string[], certain: boolean): void {
    const earlier = certain ? [] : (this.valuesOf(name) ?? []);
    const all = [...new Set([...values, ...earlier])].slice(0, MAX_VALUES);
    this.#variables.set(
      name,
      all.map((value) => (value.length > MAX_VALUE_LENGTH ? UNKNOWN : value)),
    );
  }
}
