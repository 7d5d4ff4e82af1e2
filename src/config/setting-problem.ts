/** A problem in a layer of the settings, with its location and a hint. */
export interface Problem {
  /** `unknown-key` and `unbuilt-key` are only warnings, because another program or a newer version may share the home. */
  readonly kind: "bad-value" | "unknown-key" | "unbuilt-key" | "unreadable";
  readonly key: string | undefined;
  /** A flag, a variable, or file:line:column. */
  readonly where: string;
  readonly message: string;
  readonly hint: string;
  /** False for a key that the chosen backend does not use: the problem is reported, but does not stop the program. */
  readonly used: boolean;
}

/** Whether the problem is only a key that this version ignores. */
export function isIgnored({ kind }: Problem): boolean {
  return kind === "unknown-key" || kind === "unbuilt-key";
}

/** Formats the problem as one line. */
export function formatProblem({ where, key, message }: Problem): string {
  return key === undefined ? `${where}: ${message}` : `${where}: ${key} ${message}`;
}

/** A file or line that cannot be read. */
export function unreadableProblem(where: string, message: string, hint: string): Problem {
  return { kind: "unreadable", key: undefined, where, message, hint, used: true };
}

/** A key or variable that this version does not know. */
export function unknownNameProblem(
  key: string | undefined,
  where: string,
  message: string,
  hint: string,
): Problem {
  return { kind: "unknown-key", key, where, message, hint, used: false };
}
