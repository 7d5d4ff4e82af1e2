/** Placeholder in an expanded field for text that is known only at run time. */
export const UNKNOWN = "\uFFFC";
/** Placeholder for a home folder whose path is unknown. */
export const UNKNOWN_HOME = `/home/${UNKNOWN}`;

const MAX_VALUES = 256;
/** Longer values and paths are treated as unknown, because their length could double with every assignment. */
export const MAX_VALUE_LENGTH = 4_096;

/** The known variables and working folder at one point of a script; a subshell gets a child scope. */
export class Scope {
  readonly #parent: Scope | undefined;
  readonly #variables = new Map<string, readonly string[]>();
  /** An absolute path, or undefined if unknown. */
  cwd: string | undefined;

  constructor(parent?: Scope) {
    this.#parent = parent;
    this.cwd = parent?.cwd;
  }

  /** The values that a variable may have here; undefined if none is known. */
  valuesOf(name: string): readonly string[] | undefined {
    if (name === "PWD") return this.cwd === undefined ? undefined : [this.cwd];
    return this.#variables.get(name) ?? this.#parent?.valuesOf(name);
  }

  /** Sets a variable. If the assignment might not run, earlier values remain possible and follow the new ones. */
  assign(name: string, values: readonly string[], certain: boolean): void {
    const earlier = certain ? [] : (this.valuesOf(name) ?? []);
    const isSingle = values.length === 1 && earlier.length === 0;
    const all = isSingle ? values : [...new Set([...values, ...earlier])].slice(0, MAX_VALUES);
    const isTooLong = (value: string): boolean => value.length > MAX_VALUE_LENGTH;
    this.#variables.set(
      name,
      all.some(isTooLong) ? all.map((value) => (isTooLong(value) ? UNKNOWN : value)) : all,
    );
  }
}
